export { API_ERROR_CODES, apiError, isApiErrorCode, type ApiErrorCode } from './api-error.ts'
export { asApiError } from './as-api-error.ts'
