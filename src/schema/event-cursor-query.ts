import { builder } from './builder.ts'

builder.queryField('eventCursor', (t) =>
  t.field({
    type: 'EventCursor',
    description:
      'The place in the log that goes with this query: taken before anything else in it is read. A stream resumed ' +
      'from here tells everything that the answer does not show; what it shows already may be told once more.',
    resolve: (_root, _args, context) => context.eventCursor(),
  }),
)
