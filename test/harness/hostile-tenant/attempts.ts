// What a tenant tries, what it is answered, and by that what it has really done. Whatever it is, the victim's
// picture stays the same.
import type { Attempt } from "./attempt.ts";
import { DECLARATIONS } from "./declarations.ts";
import { PODS } from "./pods.ts";
import { REQUESTS } from "./requests.ts";

export const ATTEMPTS: readonly Attempt[] = [...DECLARATIONS, ...PODS, ...REQUESTS];
