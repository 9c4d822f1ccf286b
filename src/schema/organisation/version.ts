import {
  modelsOf,
  versionLifecycle,
  type ModelSnapshot,
  type VersionSource,
  type VersionStatus,
} from '../../domain/organisation/index.ts'
import { builder } from '../builder.ts'
import { connectionOfArray, connectionType, pageArgs, pageCost } from '../connection.ts'
import { describedEnum, lifecycleEnum } from '../lifecycle-enum.ts'
import { loaderOf } from '../loaders.ts'
import { keyOf } from '../node-key.ts'
import { OrgModelAttributeConnection } from './attribute.ts'

export const OrgModelVersionStatus = lifecycleEnum(
  'OrgModelVersionStatus',
  'Where a version of the organisation model is in its life.',
  versionLifecycle,
)

const OrgModelVersionSource = describedEnum<VersionSource>('OrgModelVersionSource', 'What a version was made from.', {
  EDIT: 'From the active version, to be edited.',
  REVERT: 'From an earlier version, to go back to it.',
  IMPORT: 'From a whole model that was handed in.',
})

const modelLoader = loaderOf<string, ModelSnapshot>(modelsOf)

export const OrgModelVersion = builder.prismaNode('OrgModelVersion', {
  description:
    'A version of the tenant’s organisation model: the attributes of its people and their values. One version is ' +
    'ACTIVE; at most one is a DRAFT; the others are history and never change.',
  id: { resolve: (version) => version.id },
  select: { id: true, status: true },
  findUnique: (id, context) => keyOf(id, context, 'orgmodel.read'),
  fields: (t) => ({
    uuid: t.expose('id', { type: 'UUID', description: 'The id that webhooks and files speak.' }),
    number: t.exposeInt('number', { description: 'Counts the tenant’s versions from 1.' }),
    status: t.field({
      type: OrgModelVersionStatus,
      description: 'Where it is in its life.',
      select: { status: true },
      resolve: ({ status }) => status as VersionStatus,
    }),
    version: t.exposeInt('version', { description: 'Rises by one with every event about it; its events’ sequence.' }),
    contentRevision: t.int({
      select: { contentRevision: true },
      resolve: ({ contentRevision }) => Number(contentRevision),
      description: 'Rises by one with every edit. Pass it as `expectedContentRevision`.',
    }),
    source: t.field({
      type: OrgModelVersionSource,
      description: 'What it was made from.',
      select: { source: true },
      resolve: ({ source }) => source as VersionSource,
    }),
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
    base: t.prismaField({
      type: 'OrgModelVersion',
      nullable: true,
      description: 'The version that was active when it was made; null for the tenant’s first.',
      select: { baseVersionId: true },
      resolve: (query, { baseVersionId }, _args, context) =>
        baseVersionId === null
          ? null
          : context
              .prisma()
              .orgModelVersion.findUnique({ ...query, where: keyOf(baseVersionId, context, 'orgmodel.read') }),
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
