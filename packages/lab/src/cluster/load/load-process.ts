import type { ChildProcess } from "node:child_process";
import type { Clock } from "@isochrone/runtime";
import { endChild, sendTo, startChild } from "../kubelet/child.ts";
import { Questions } from "../kubelet/questions.ts";
import type { EndToEnd, FromLoad, LoadPlan, RawStretch, ToLoad } from "./protocol.ts";

const LOAD_ENTRY = new URL("main.ts", import.meta.url);
export const ANSWER_MS = 10_000;
const LONGEST_STRETCH_MS = 24 * 3_600_000;

export class LoadProcess {
  readonly #child: ChildProcess;
  readonly reports: Questions<EndToEnd>;
  readonly stretches: Questions<RawStretch>;

  constructor(plan: LoadPlan, clock: Clock, commandOn: readonly string[], onExit: () => void) {
    this.#child = startChild(LOAD_ENTRY, "load", commandOn);
    this.reports = new Questions(this.#child, clock, ANSWER_MS);
    this.stretches = new Questions(this.#child, clock, LONGEST_STRETCH_MS);
    this.#child.on("message", (message: FromLoad) => {
      if (message.type === "report") this.reports.settle(message.id, message.report);
      else this.stretches.settle(message.id, message.stretch);
    });
    this.#child.once("exit", onExit);
    this.send({ type: "configure", plan });
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  send(message: ToLoad): void {
    sendTo(this.#child, message);
  }

  end(): Promise<void> {
    return endChild(this.#child, Promise.resolve());
  }
}
