import { resumeUnderLoad } from './resume.ts'

resumeUnderLoad(100)
