// Several dozen simulated nodes. `npm run soak -- cluster` runs 5,000 for half an hour.
import { describe, expect, test } from "vitest";
import { kafkaSupport } from "../harness/kafka/index.ts";
import { simulate } from "../soak/cluster/simulation.ts";

const support = kafkaSupport();
if (!support.supported) console.warn(`simulated cluster skipped: ${support.reason}`);

describe.runIf(support.supported)("a simulated cluster over Kafka", () => {
  test("every point is counted, and channels have the rates that their pods were given", async () => {
    const result = await simulate({
      nodes: 60,
      podsPerNode: 20,
      // A quarter of the window is longer, so rates are complete once all pods have been scraped.
      scrapePeriodMs: 5000,
      durationMs: 85_000,
      windowMs: 80_000,
      producers: 1,
      client: "platformatic",
      sampledChannels: 300,
      log: (line) => console.log(`  ${line}`),
    });
    const { samples, channels, published, counted } = result;
    console.log(JSON.stringify({ ...result, samples: samples.length }));
    expect(counted).toBe(published);
    expect(samples.at(-1)!.missing).toBe(0);
    expect(channels.absent).toBe(0);
    expect(channels.steadyLargest).toBeLessThan(0.01);
    // Traffic after a pod's last scrape is lost: up to 5 s of a tenth of the channel in 20 s.
    expect(channels.churnedLargest).toBeLessThan(0.1);
  }, 600_000);
});
