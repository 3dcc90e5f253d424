import { once } from "node:events";
import type { ChildProcess } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import type { KafkaBusOptions } from "@isochrone/bus/kafka";
import type { NumberSpread } from "./numbered-records.ts";
import type { Spawn } from "./spawn.ts";

export interface ProducerTask {
  readonly client: KafkaBusOptions["client"];
  readonly brokers: readonly string[];
  readonly busOptions: Partial<KafkaBusOptions>;
  readonly spread: NumberSpread;
  readonly records: number;
  readonly perSecond: number;
  readonly bufferRecords: number;
  /** Share of publishes whose acknowledgement is lost. */
  readonly lostAcknowledgementRatio: number;
  /** Share of batches that are resent under other numbers. */
  readonly renumberedRatio: number;
  readonly ledgerPath: string;
  readonly seed: number;
}

export interface ProducerLine {
  readonly offered: number;
  readonly acknowledged: number;
  readonly dropped: number;
  readonly failures: number;
  readonly done: boolean;
}

const POLL_MS = 50;
const SCRIPT = join(import.meta.dirname, "producer-process.ts");

export class Producer {
  readonly task: ProducerTask;
  readonly #child: ChildProcess;
  readonly #exit: Promise<unknown>;
  #latest: ProducerLine = { offered: 0, acknowledged: 0, dropped: 0, failures: 0, done: false };
  #log = "";

  constructor(task: ProducerTask, spawn: Spawn) {
    this.task = task;
    this.#child = spawn(process.execPath, [SCRIPT, JSON.stringify(task)], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#exit = once(this.#child, "exit");
    createInterface({ input: this.#child.stdout! }).on("line", (line) => {
      this.#latest = JSON.parse(line) as ProducerLine;
    });
    this.#child.stderr!.on("data", (chunk: Buffer) => (this.#log += chunk.toString()));
  }

  get latest(): ProducerLine {
    return this.#latest;
  }

  get log(): string {
    return this.#log;
  }

  async began(): Promise<void> {
    while (this.#latest.acknowledged === 0) {
      if (this.#child.exitCode !== null) throw new Error(`${this.task.spread.producer} ended:\n${this.#log}`);
      await delay(POLL_MS);
    }
  }

  async finished(): Promise<void> {
    await this.#exit;
    if (!this.#latest.done) throw new Error(`${this.task.spread.producer} did not finish:\n${this.#log}`);
  }

  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill("SIGKILL");
    await this.#exit;
  }
}
