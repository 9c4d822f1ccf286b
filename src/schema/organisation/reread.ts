import type { ObjectFieldBuilder } from '@pothos/core'
import type { Types } from '../builder.ts'
import type { Changed } from '../mutation.ts'
import { keyOf } from '../node-key.ts'

type Fields<Result> = ObjectFieldBuilder<Types, Changed<Result>>

// What a mutation changed is read anew through the plugin, so that a caller can select anything of it.

/** The version whose id the result holds. */
export const versionOf = <Result>(t: Fields<Result>, description: string, idOf: (result: Result) => string) =>
  t.prismaField({
    type: 'OrgModelVersion',
    description,
    resolve: (query, { result }, _args, context) =>
      context.prisma().orgModelVersion.findUniqueOrThrow({
        ...query,
        where: keyOf(idOf(result), context, 'orgmodel.read'),
      }),
  })

/** The persona that is the result. */
export const personaOf = (t: Fields<{ readonly id: string }>, description: string) =>
  t.prismaField({
    type: 'Persona',
    description,
    resolve: (query, { result }, _args, context) =>
      context.prisma().persona.findUniqueOrThrow({ ...query, where: keyOf(result.id, context, 'orgmodel.read') }),
  })

/** The person who is the result. */
export const personOf = (t: Fields<{ readonly id: string }>, description: string) =>
  t.prismaField({
    type: 'Person',
    description,
    resolve: (query, { result }, _args, context) =>
      context.prisma().person.findUniqueOrThrow({ ...query, where: keyOf(result.id, context, 'people.read') }),
  })

/** The resolution that is the result. */
export const resolutionOf = (t: Fields<{ readonly id: string }>, description: string) =>
  t.prismaField({
    type: 'OrgModelDraftResolution',
    description,
    resolve: (query, { result }, _args, context) =>
      context.prisma().orgModelDraftResolution.findUniqueOrThrow({
        ...query,
        where: keyOf(result.id, context, 'orgmodel.read'),
      }),
  })
