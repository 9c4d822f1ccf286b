import {
  activeVersion,
  countVersions,
  diffVersions,
  listVersions,
  openDraft,
  versionById,
  versionByNumber,
  versionKey,
} from '../../domain/organisation/index.ts'
import { builder } from '../builder.ts'
import { connectionOf, pageArgs, pageCost } from '../connection.ts'
import { apiError } from '../errors/index.ts'
import { decodeId, idArg } from '../id.ts'
import { keyIs } from '../keyset-cursor.ts'
import { OrgModelChange } from './change.ts'
import { OrgModelVersion, OrgModelVersionConnection, OrgModelVersionStatus } from './version.ts'

const OrgModelVersionFilter = builder.inputType('OrgModelVersionFilter', {
  description: 'Which versions to list. What is left out does not narrow.',
  fields: (t) => ({
    statuses: t.field({ type: [OrgModelVersionStatus], description: 'Only versions in one of these statuses.' }),
  }),
})

builder.queryFields((t) => ({
  orgModelActive: t.field({
    type: OrgModelVersion,
    nullable: true,
    description: 'The version that counts now.',
    resolve: (_root, _args, context) => activeVersion(context.call()),
  }),
  orgModelDraft: t.field({
    type: OrgModelVersion,
    nullable: true,
    description: 'The open draft; null when there is none.',
    resolve: (_root, _args, context) => openDraft(context.call()),
  }),
  orgModelVersion: t.field({
    type: OrgModelVersion,
    nullable: true,
    description: 'One version, by its id or its number (give one of the two); null when it does not exist.',
    args: {
      id: t.arg.id(idArg('OrgModelVersion', 'Id of the version.')),
      number: t.arg.int({ description: 'Number of the version, from 1.' }),
    },
    resolve: (_root, { id, number }, context) => {
      if (typeof id === 'string' && typeof number !== 'number') {
        return versionById(context.call(), decodeId('OrgModelVersion', id, ['id']))
      }
      if (typeof number === 'number' && typeof id !== 'string') return versionByNumber(context.call(), number)
      throw apiError('BAD_USER_INPUT', 'Give "id" or "number", one of the two.', { inputPath: ['id'] })
    },
  }),
  orgModelVersions: t.field({
    type: OrgModelVersionConnection,
    description: 'All versions, the newest first.',
    args: { filter: t.arg({ type: OrgModelVersionFilter, description: 'Which of them.' }), ...pageArgs(t) },
    complexity: pageCost,
    resolve: (_root, { filter, ...args }, context) => {
      const chosen = filter?.statuses == null ? {} : { statuses: filter.statuses }
      return connectionOf(args, {
        isKey: keyIs({ number: 'number' }),
        keyOf: versionKey,
        read: (page) => listVersions(context.call(), { ...chosen, ...page }),
        count: () => countVersions(context.call(), chosen),
      })
    },
  }),
  orgModelDiff: t.field({
    type: [OrgModelChange],
    nullable: true,
    description: 'What differs from one version to another, in net terms; null when one of them does not exist.',
    args: {
      fromVersionId: t.arg.id({ ...idArg('OrgModelVersion', 'The version to start from.'), required: true }),
      toVersionId: t.arg.id({ ...idArg('OrgModelVersion', 'The version to compare with.'), required: true }),
    },
    resolve: (_root, { fromVersionId, toVersionId }, context) =>
      diffVersions(
        context.call(),
        decodeId('OrgModelVersion', fromVersionId, ['fromVersionId']),
        decodeId('OrgModelVersion', toVersionId, ['toVersionId']),
      ),
  }),
}))
