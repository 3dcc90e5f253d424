// Every record is counted once: by whom the producers' own files are compared with the graphs of three
// replicas, while brokers and aggregators are killed. Two runs with a part of the machinery switched off must
// be found wrong by the same comparison.
import { describe, expect, test } from "vitest";
import { runDelivery, type DeliveryOptions } from "../harness/delivery/delivery.ts";
import { kafkaSupport } from "../harness/kafka/index.ts";
import { namespaceLabSupport } from "@isochrone/lab/namespaces";
import { tunedEnvironment } from "../harness/components/tuned.ts";

const support = kafkaSupport();
if (!support.supported) console.warn(`delivery tests skipped: ${support.reason}`);

const namespaces = await namespaceLabSupport();
if (!namespaces.supported) console.warn(`delivery over pulled cables skipped: ${namespaces.reason}`);

const seed = Number(process.env["ISOCHRONE_TEST_SEED"] ?? Date.now() % 1_000_000);

const base: DeliveryOptions = {
  records: 50_000,
  perSecond: 2500,
  producers: 2,
  aggregators: 3,
  brokers: 3,
  client: "platformatic",
  faults: { count: 4, everyMs: 4000, awayMs: { least: 500, most: 3000 } },
  victims: ["aggregator", "broker"],
  lostAcknowledgementRatio: 0.02,
  seed,
  log: (line) => console.log(`  ${line}`),
};

const control: Partial<DeliveryOptions> = {
  records: 20_000,
  brokers: 1,
  aggregators: 2,
  faults: { count: 4, everyMs: 1800, awayMs: { least: 500, most: 1000 } },
  victims: ["aggregator"],
  lostAcknowledgementRatio: 0.2,
};

describe.runIf(support.supported)(`delivery by Kafka, seed ${seed}`, () => {
  test("every record is counted once by every replica, whoever is killed", async () => {
    const result = await runDelivery(base);
    console.log(JSON.stringify(result, null, 1));
    expect(result.verdicts.map(({ lost, doubled, unexplained }) => ({ lost, doubled, unexplained }))).toEqual(
      result.verdicts.map(() => ({ lost: 0, doubled: 0, unexplained: 0 })),
    );
    expect(result.verdicts[0]!.acknowledged).toBeGreaterThan(0.9 * base.records);
  }, 240_000);

  test.runIf(namespaces.supported)(
    "every record is counted once when brokers and aggregators are cut off instead",
    async () => {
      const { verdicts } = await runDelivery({
        ...base,
        records: 25_000,
        testbed: "namespaces",
        victims: ["broker cable", "aggregator cable"],
        faults: { count: 2, everyMs: 5000, awayMs: { least: 3000, most: 9000 } },
      });
      console.log(JSON.stringify(verdicts));
      expect(verdicts.map(({ lost, doubled, unexplained }) => lost + doubled + unexplained)).toEqual(
        verdicts.map(() => 0),
      );
    },
    240_000,
  );

  // The two controls have their own brokers, and mostly wait: they run at the same time.
  test.concurrent("without deduplication the same comparison finds records counted twice", async () => {
    const aggregatorEnv = tunedEnvironment({ aggregator: { faultForTests: "no_deduplication" } });
    const { verdicts } = await runDelivery({ ...base, ...control, aggregatorEnv });
    expect(Math.min(...verdicts.map(({ doubled }) => doubled))).toBeGreaterThan(0);
  }, 120_000);

  // What was read before the kill may be committed a moment after it: then nothing is lost.
  test.concurrent(
    "with offsets committed as records are read it finds records lost",
    { retry: 3, timeout: 240_000 },
    async () => {
      const { verdicts } = await runDelivery({
        ...base,
        ...control,
        // Slow enough that members are back while records still come.
        records: 15_000,
        perSecond: 500,
        faults: { count: 3, everyMs: 1800, awayMs: { least: 500, most: 1000 } },
        // Those that have read and not yet written, for which there is time.
        victims: ["reading aggregator"],
        aggregatorEnv: tunedEnvironment({
          aggregator: { faultForTests: "commit_at_read", flushIntervalMs: 5_000 },
        }),
      });
      expect(Math.min(...verdicts.map(({ lost }) => lost))).toBeGreaterThan(0);
    },
  );
});
