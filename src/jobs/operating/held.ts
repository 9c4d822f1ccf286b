/**
 * The due time of a job that an operator has put aside: so late that no worker ever comes to it, and every statement
 * about due jobs is right without knowing of it. Not `infinity`, whose distance from now PostgreSQL 15 cannot compute.
 */
export const HELD_UNTIL = '9999-01-01 00:00:00+00'
