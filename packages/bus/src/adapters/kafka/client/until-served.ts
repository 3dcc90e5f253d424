import type { KafkaClientOptions } from "./options.ts";

/** Waits until brokers know a new topic. If that takes too long, the topic exists all the same. */
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
