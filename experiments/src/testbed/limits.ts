// What both grounds hold requests against, milliseconds of the point's own time.

/** A call between workloads that takes longer fails, as the sidecars have it. */
export const CALL_TIMEOUT_MS = 5_000;
/** A user gives up. */
export const REQUEST_TIMEOUT_MS = 10_000;
/** Unanswered requests of all users together; further ones fail at once: sockets are finite. */
export const MAX_PENDING = 4_000;
