import type { Bus } from "@isochrone/bus";
import type { Leadership } from "@isochrone/kubernetes";
import type { Clock, Logger } from "@isochrone/runtime";
import type { Registry } from "prom-client";
import type { Tables } from "../domain/graphs/tables.ts";
import type { IngestOptions, OnRefused, SpeakingParts } from "../domain/ingest/ingest.ts";
import { DeadLetters } from "../intake/dead-letters.ts";
import { createDeadLetterCounter, createIntakeMetrics } from "../intake/intake-metrics.ts";
import { Intake } from "../intake/intake.ts";
import { LastBandwidths } from "../intake/last-bandwidths.ts";
import { BELIEVED } from "../record-keys/create-record-proofs.ts";
import type { RecordProofs } from "../record-keys/record-proofs.ts";

interface TestIntakeOptions {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly tables: Tables;
  readonly ingest: IngestOptions;
  readonly onRefused?: OnRefused;
  readonly speaking?: SpeakingParts;
  readonly counterHorizonMs: number;
  /** @default everyone is trusted */
  readonly proofs?: RecordProofs | undefined;
  /** @default always leads */
  readonly leadership?: Leadership;
}

/** Starts an intake on a shared bus without the rest of an aggregator. */
export async function startIntake(options: TestIntakeOptions): Promise<Intake> {
  const { registry, ingest, speaking = {} } = options;
  const proofs = options.proofs ?? { ...BELIEVED, foreignTopics: [] };
  const around = { leadership: { isLeader: () => true }, ...options };
  const intake = new Intake({
    onRefused: () => undefined,
    ...around,
    speaking,
    metrics: createIntakeMetrics(registry),
    shared: {
      proofs,
      deadLetters: new DeadLetters({ ...around, counter: createDeadLetterCounter(registry) }),
      bandwidths: new LastBandwidths({ ...around, ...proofs, maxFutureMs: ingest.maxFutureMs }),
      namesKnown: async () => undefined,
    },
  });
  await intake.start();
  return intake;
}
