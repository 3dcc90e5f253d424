/** What all probes of the bench sign with; anybody may know it. */
export const HMAC_SECRET = Buffer.alloc(32, 7);
