/** Signing key of all probes of the bench; not secret. */
export const HMAC_SECRET = Buffer.alloc(32, 7);
