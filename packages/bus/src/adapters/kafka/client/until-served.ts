import type { KafkaClientOptions } from "./options.ts";

/**
 * Brokers hear of a new topic one after the other. Who gives up waiting, after the time for a request, has
 * made it all the same.
 */
export async function untilServed(
  { clock, requestTimeoutMs, retryInitialMs }: KafkaClientOptions,
  isServed: () => Promise<boolean>,
): Promise<void> {
  const deadlineMs = clock.monotonic() + requestTimeoutMs;
  while (clock.monotonic() < deadlineMs) {
    if (await isServed().catch(() => false)) return;
    await clock.sleep(retryInitialMs);
  }
}
