// A tenant's attempts with their expected responses. The victim's picture must stay the same for all of them.
import type { Attempt } from "./attempt.ts";
import { DECLARATIONS } from "./declarations.ts";
import { PODS } from "./pods.ts";
import { REQUESTS } from "./requests.ts";

export const ATTEMPTS: readonly Attempt[] = [...DECLARATIONS, ...PODS, ...REQUESTS];
