import type { InputFieldBuilder } from '@pothos/core'
import type { Types } from './builder.ts'
import { KEY_HOURS } from './idempotency.ts'

type Builder = Pick<InputFieldBuilder<Types, 'InputObject'>, 'string' | 'int'>

/** Fields that many inputs share, so that they mean the same everywhere. */
export const idempotencyKey = (t: Builder) =>
  t.string({
    description:
      'A key of your own, 1 to 128 characters. The same key with the same input gives the first answer again and ' +
      `does nothing twice, for ${KEY_HOURS} hours; with another input it is refused.`,
  })

export const expectedVersion = (t: Builder) =>
  t.int({ description: 'The `version` you decided on. When it has another by now, nothing is done.' })

export const expectedContentRevision = (t: Builder) =>
  t.int({
    required: true,
    description: 'The draft’s `contentRevision` you decided on. When it has another by now, nothing is done.',
  })
