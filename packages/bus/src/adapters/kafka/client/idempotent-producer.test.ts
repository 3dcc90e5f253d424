import { systemClock } from "@isochrone/runtime";
import { describe, expect, it } from "vitest";

import { BusError } from "../../../ports/errors.ts";
import type { KafkaRecord } from "./client.ts";
import { IdempotentProducer } from "./idempotent-producer.ts";
import type { ProducerId, ProduceRequest, ProduceRequests } from "./idempotent-producer.ts";
import { brokerError, connectionError } from "./kafka-errors.ts";
import { resolveOptions } from "./options.ts";

const PARTITION = { topic: "topic", partition: 0 };
const LOST_ANSWER = "no answer";

/** Answers with the next entry: an error name, LOST_ANSWER, or null for an acknowledgement. */
class ScriptedRequests implements ProduceRequests {
  readonly errors = {
    brokerErrorName: (error: unknown) => (error instanceof BrokerError ? error.message : null),
    toBusError: (error: unknown, doing: string) => {
      if (error instanceof BusError) return error;
      if (error instanceof BrokerError) return brokerError(error.message, doing, error);
      return connectionError(doing, error);
    },
  };
  readonly sent: string[] = [];
  readonly #answers: (string | null)[];
  #nextId = 1n;

  constructor(answers: readonly (string | null)[]) {
    this.#answers = [...answers];
  }

  async leaderOf(): Promise<number> {
    return 1;
  }

  async newProducerId(): Promise<ProducerId> {
    return { id: this.#nextId++, epoch: 0 };
  }

  async send(_leader: number, { partition, producer, sequence }: ProduceRequest): Promise<void> {
    this.sent.push(`${partition.partition}: producer ${producer.id} sequence ${sequence}`);
    const answer = this.#answers.shift() ?? null;
    if (answer === null) return;
    throw answer === LOST_ANSWER ? new Error(answer) : new BrokerError(answer);
  }

  forget(): void {}
}

class BrokerError extends Error {}

function under(answers: readonly (string | null)[] = []): {
  producer: IdempotentProducer;
  requests: ScriptedRequests;
} {
  const options = resolveOptions({
    client: "platformatic",
    brokers: ["broker:9092"],
    clientId: "test",
    clock: systemClock,
    random: { next: () => 0.5 },
    retryInitialMs: 1,
    retryMaxMs: 2,
    deliveryTimeoutMs: 40,
  });
  const requests = new ScriptedRequests(answers);
  return { producer: new IdempotentProducer(options, requests), requests };
}

function records(count: number): KafkaRecord[] {
  return Array.from({ length: count }, () => ({ key: Buffer.from("k"), value: null, headers: {} }));
}

describe("idempotent publishing", () => {
  it("numbers the records of each partition on their own", async () => {
    const { producer, requests } = under();
    await producer.produce(PARTITION, records(3));
    await producer.produce({ ...PARTITION, partition: 1 }, records(1));
    await producer.produce(PARTITION, records(2));
    await producer.produce(PARTITION, records(1));
    expect(requests.sent).toEqual([
      "0: producer 1 sequence 0",
      "1: producer 2 sequence 0",
      "0: producer 1 sequence 3",
      "0: producer 1 sequence 5",
    ]);
  });

  it.each([[LOST_ANSWER], ["NOT_LEADER_OR_FOLLOWER"]])(
    "repeats a request with its numbers after %s, and takes a broker's word that it has them",
    async (answer) => {
      const { producer, requests } = under([answer, "DUPLICATE_SEQUENCE_NUMBER"]);
      await producer.produce(PARTITION, records(2));
      await producer.produce(PARTITION, records(1));
      expect(requests.sent).toEqual([
        "0: producer 1 sequence 0",
        "0: producer 1 sequence 0",
        "0: producer 1 sequence 2",
      ]);
    },
  );

  it("never gives numbers whose fate is unknown to other records", async () => {
    const { producer, requests } = under(Array.from({ length: 1_000 }, () => LOST_ANSWER));
    await expect(producer.produce(PARTITION, records(2))).rejects.toMatchObject({ code: "unavailable" });
    const last = requests.sent.length;
    await producer.produce(PARTITION, records(1)).catch(() => undefined);
    expect(new Set(requests.sent.slice(0, last))).toEqual(new Set(["0: producer 1 sequence 0"]));
    expect(requests.sent[last]).toBe("0: producer 2 sequence 0");
  });

  it("goes on with the same numbers after a refusal that says that nothing was taken", async () => {
    const { producer, requests } = under(["MESSAGE_TOO_LARGE"]);
    await expect(producer.produce(PARTITION, records(2))).rejects.toMatchObject({ code: "too_large" });
    await producer.produce(PARTITION, records(1));
    expect(requests.sent).toEqual(["0: producer 1 sequence 0", "0: producer 1 sequence 0"]);
  });

  it("begins anew where the broker does not know the producer any more", async () => {
    const { producer, requests } = under([null, "UNKNOWN_PRODUCER_ID"]);
    await producer.produce(PARTITION, records(2));
    await producer.produce(PARTITION, records(1));
    expect(requests.sent.slice(1)).toEqual(["0: producer 1 sequence 2", "0: producer 2 sequence 0"]);
  });

  it("sends nothing after it was closed", async () => {
    const { producer, requests } = under();
    producer.close();
    await expect(producer.produce(PARTITION, records(1))).rejects.toMatchObject({ code: "closed" });
    expect(requests.sent).toEqual([]);
  });
});
