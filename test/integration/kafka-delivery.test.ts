// Compares the producers' files with three replicas' graphs. Two negative controls must fail: renumbered
// records, and too short windows.
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
};
const NO_FAULTS = { count: 0, everyMs: 1000, awayMs: { least: 0, most: 0 } };

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

  // The two controls have their own brokers and mostly wait, so they run concurrently.
  test.concurrent("records that a producer sends again as new ones are found counted twice", async () => {
    const { verdicts } = await runDelivery({ ...base, ...control, faults: NO_FAULTS, renumberedRatio: 0.05 });
    expect(Math.min(...verdicts.map(({ doubled }) => doubled))).toBeGreaterThan(0);
  }, 120_000);

  test.concurrent("records that have left a window that is too short are found lost", async () => {
    const aggregatorEnv = tunedEnvironment({ aggregator: { windowMs: "5s", paneMs: 1_000 } });
    const { verdicts } = await runDelivery({ ...base, ...control, faults: NO_FAULTS, aggregatorEnv });
    expect(Math.min(...verdicts.map(({ lost }) => lost))).toBeGreaterThan(0);
  }, 120_000);
});
