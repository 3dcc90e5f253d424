import { decodeHeaders, type RecordIdentity } from "@isochrone/telemetry";

import type { OutgoingRecord, Publisher } from "../ports/port.ts";

export class ScriptedBus implements Publisher {
  readonly taken: { topic: string; record: OutgoingRecord }[] = [];
  calls = 0;
  failure: Error | null = null;
  hanging = false;

  async publish(topic: string, records: readonly OutgoingRecord[]): Promise<void> {
    this.calls += 1;
    if (this.hanging) await new Promise(() => undefined);
    if (this.failure) throw this.failure;
    this.taken.push(...records.map((record) => ({ topic, record })));
  }

  texts(): string[] {
    return this.taken.map(({ record }) => Buffer.from(record.value).toString());
  }

  identities(): RecordIdentity[] {
    return this.taken.map(({ record }) => decodeHeaders(record.headers)!);
  }
}
