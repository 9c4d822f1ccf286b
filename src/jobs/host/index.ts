export { jobHints } from './hints.ts'
export { startJobs, type Jobs, type JobsOptions, type JobsStats, type ThreadStats } from './jobs.ts'
