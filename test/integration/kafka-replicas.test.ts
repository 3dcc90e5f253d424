// Replicas come and go under load: no interval of a link is missing, and the graph stays fresh.
import { describe, expect, test } from "vitest";
import { AgeWatcher } from "../harness/delivery/age-watcher.ts";
import { runDelivery } from "../harness/delivery/delivery.ts";
import { kafkaSupport } from "../harness/kafka/index.ts";
import { tunedEnvironment } from "../harness/components/tuned.ts";

const support = kafkaSupport();
if (!support.supported) console.warn(`test of replicas skipped: ${support.reason}`);

const MINUTES = Number(process.env["ISOCHRONE_TEST_REPLICAS_MINUTES"] ?? 1);
const EVERY_MS = 10_000;
const PANE_MS = 5000;
/** An idle machine stays below one pane. */
const BUSY_AGE_MS = 4 * PANE_MS;
/** One record per link and second. */
const LINKS = 240;

describe.runIf(support.supported)("aggregators that come and go", () => {
  test(
    "miss no interval of any link, and show nothing old",
    async () => {
      let ages: Awaited<ReturnType<AgeWatcher["stop"]>>[] = [];
      const changes = Math.floor((MINUTES * 60_000) / EVERY_MS);
      const { verdicts } = await runDelivery({
        records: LINKS * 60 * MINUTES,
        perSecond: LINKS,
        producers: 2,
        aggregators: 3,
        brokers: 1,
        client: "platformatic",
        faults: {
          count: Math.max(1, Math.floor(changes / 2) - 1),
          everyMs: EVERY_MS,
          awayMs: { least: EVERY_MS, most: EVERY_MS },
        },
        victims: ["replica"],
        lostAcknowledgementRatio: 0,
        aggregatorEnv: tunedEnvironment({ aggregator: { paneMs: PANE_MS } }),
        seed: 1,
        watch(aggregators) {
          const watchers = aggregators.map((aggregator) => new AgeWatcher(aggregator, LINKS));
          for (const watcher of watchers) watcher.start();
          const end = async (): Promise<void> => {
            ages = await Promise.all(watchers.map((watcher) => watcher.stop()));
          };
          return { end };
        },
        log: (line) => console.log(`  ${line}`),
      });
      console.log(`ages ${JSON.stringify(ages)}, verdicts ${JSON.stringify(verdicts)}`);
      expect(verdicts.map(({ lost, doubled, unexplained }) => lost + doubled + unexplained)).toEqual(
        verdicts.map(() => 0),
      );
      // The first replica stays. The others serve after catching up, so no link may be missing.
      expect(ages[0]!.p99Ms).toBeLessThanOrEqual(BUSY_AGE_MS);
      expect(ages.map(({ fewestLinks }) => fewestLinks)).toEqual(ages.map(() => LINKS));
    },
    240_000 + MINUTES * 60_000,
  );
});
