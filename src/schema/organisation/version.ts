import {
  modelsOf,
  versionLifecycle,
  versionsByIds,
  type ModelSnapshot,
  type OrgModelVersion as Version,
} from '../../domain/organisation/index.ts'
import { builder } from '../builder.ts'
import { connectionOfArray, connectionType, pageArgs, pageCost } from '../connection.ts'
import { describedEnum, lifecycleEnum } from '../lifecycle-enum.ts'
import { loaderOf } from '../loaders.ts'
import { OrgModelAttributeConnection } from './attribute.ts'

export const OrgModelVersionStatus = lifecycleEnum(
  'OrgModelVersionStatus',
  'Where a version of the organisation model is in its life.',
  versionLifecycle,
)

const OrgModelVersionSource = describedEnum('OrgModelVersionSource', 'What a version was made from.', {
  EDIT: 'From the active version, to be edited.',
  REVERT: 'From an earlier version, to go back to it.',
  IMPORT: 'From a whole model that was handed in.',
})

export const versionLoader = loaderOf<string, Version>(versionsByIds)
export const modelLoader = loaderOf<string, ModelSnapshot>(modelsOf)

export const OrgModelVersion = builder.objectRef<Version>('OrgModelVersion')

builder.node(OrgModelVersion, {
  description:
    'A version of the tenant’s organisation model: the attributes of its people and their values. One version is ' +
    'ACTIVE; at most one is a DRAFT; the others are history and never change.',
  id: { resolve: (version) => version.id },
  isTypeOf: (value) => typeof value === 'object' && value !== null && 'contentRevision' in value && 'number' in value,
  loadMany: (ids, context) => ids.map((id) => versionLoader(context).load(id)),
  fields: (t) => ({
    uuid: t.expose('id', { type: 'UUID', description: 'The id that webhooks and files speak.' }),
    number: t.exposeInt('number', { description: 'Counts the tenant’s versions from 1.' }),
    status: t.expose('status', { type: OrgModelVersionStatus, description: 'Where it is in its life.' }),
    version: t.exposeInt('version', { description: 'Rises by one with every event about it; its events’ sequence.' }),
    contentRevision: t.exposeInt('contentRevision', {
      description: 'Rises by one with every edit. Pass it as `expectedContentRevision`.',
    }),
    source: t.expose('source', { type: OrgModelVersionSource, description: 'What it was made from.' }),
    name: t.exposeString('name', { nullable: true, description: 'Name that its author gave it.' }),
    note: t.exposeString('note', { nullable: true, description: 'What its author says about it.' }),
    createdBy: t.exposeString('createdBy', { description: 'Subject of whoever made it.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was made.' }),
    activatedBy: t.exposeString('activatedBy', { nullable: true, description: 'Subject of whoever activated it.' }),
    activatedAt: t.expose('activatedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it became the active version; null if it never was.',
    }),
    archivedAt: t.expose('archivedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When another version took its place as the active one.',
    }),
    discardedAt: t.expose('discardedAt', { type: 'DateTime', nullable: true, description: 'When it was given up.' }),
    discardReason: t.exposeString('discardReason', { nullable: true, description: 'Why it was given up.' }),
    base: t.field({
      type: OrgModelVersion,
      nullable: true,
      description: 'The version that was active when it was made; null for the tenant’s first.',
      resolve: ({ baseVersionId }, _args, context) =>
        baseVersionId === null ? null : versionLoader(context).load(baseVersionId),
    }),
    attributes: t.field({
      type: OrgModelAttributeConnection,
      description: 'Its attributes, in their order.',
      args: pageArgs(t),
      complexity: pageCost,
      resolve: async (version, args, context) => {
        const model = await modelLoader(context).load(version.id)
        return connectionOfArray(args, [...(model?.attributes.values() ?? [])], ({ id }) => id)
      },
    }),
  }),
})

export const OrgModelVersionConnection = connectionType(OrgModelVersion, 'versions of the organisation model')
