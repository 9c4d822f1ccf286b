import { diffVersions } from '../../domain/organisation/index.ts'
import { builder } from '../builder.ts'
import { pageArgs, pageCost } from '../connection.ts'
import { apiError } from '../errors/index.ts'
import { decodeId, idArg } from '../id.ts'
import { OrgModelChange } from './change.ts'
import { rowsConnection, selectedRows } from '../rows.ts'
import { OrgModelVersionConnection, OrgModelVersionStatus } from './version.ts'

const OrgModelVersionFilter = builder.inputType('OrgModelVersionFilter', {
  description: 'Which versions to list. What is left out does not narrow.',
  fields: (t) => ({
    statuses: t.field({ type: [OrgModelVersionStatus], description: 'Only versions in one of these statuses.' }),
  }),
})

builder.queryFields((t) => ({
  orgModelActive: t.prismaField({
    type: 'OrgModelVersion',
    nullable: true,
    description: 'The version that counts now.',
    resolve: (query, _root, _args, context) =>
      context.rows('orgmodel.read').orgModelVersion.findFirst({ ...query, where: { status: 'ACTIVE' } }),
  }),
  orgModelDraft: t.prismaField({
    type: 'OrgModelVersion',
    nullable: true,
    description: 'The open draft; null when there is none.',
    resolve: (query, _root, _args, context) =>
      context.rows('orgmodel.read').orgModelVersion.findFirst({ ...query, where: { status: 'DRAFT' } }),
  }),
  orgModelVersion: t.prismaField({
    type: 'OrgModelVersion',
    nullable: true,
    description: 'One version, by its id or its number (give one of the two); null when it does not exist.',
    args: {
      id: t.arg.id(idArg('OrgModelVersion', 'Id of the version.')),
      number: t.arg.int({ description: 'Number of the version, from 1.' }),
    },
    resolve: (query, _root, { id, number }, context) => {
      const { orgModelVersion } = context.rows('orgmodel.read')
      if (typeof id === 'string' && typeof number !== 'number') {
        return orgModelVersion.findFirst({ ...query, where: { id: decodeId('OrgModelVersion', id, ['id']) } })
      }
      if (typeof number === 'number' && typeof id !== 'string') {
        return orgModelVersion.findFirst({ ...query, where: { number } })
      }
      throw apiError('BAD_USER_INPUT', 'Give "id" or "number", one of the two.', { inputPath: ['id'] })
    },
  }),
  orgModelVersions: t.field({
    type: OrgModelVersionConnection,
    description: 'All versions, the newest first.',
    args: { filter: t.arg({ type: OrgModelVersionFilter, description: 'Which of them.' }), ...pageArgs(t) },
    complexity: pageCost,
    resolve: (_root, { filter, ...args }, context, info) => {
      const { orgModelVersion } = context.rows('orgmodel.read')
      const where = filter?.statuses == null ? {} : { status: { in: filter.statuses } }
      return rowsConnection(
        args,
        { number: ['number', 'desc'] },
        (page) =>
          orgModelVersion.findMany({
            ...selectedRows(context, info, { id: true, status: true, number: true }),
            ...page,
            where: { AND: [where, page.where] },
          }),
        () => orgModelVersion.count({ where }),
      )
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
