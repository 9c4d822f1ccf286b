// Loading these files adds their types and fields to the schema.
import './acts.ts'
import './alerts.ts'
import './batches.ts'
import './bulk.ts'
import './job-mutations.ts'
import './job-queries.ts'
import './subscriptions.ts'
