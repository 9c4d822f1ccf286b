// A face of its own, for who reads addresses out of the configuration and has no need of jobs.
export { mailAddress } from './address.ts'
export { type Sender, senderOf } from './sender.ts'
