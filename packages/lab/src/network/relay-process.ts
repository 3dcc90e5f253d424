import { fork, type ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Logger } from "@isochrone/runtime";
import { NetworkError } from "./errors.ts";
import type { RelayCall, RelayCalls, RelayMessage } from "./relay/messages.ts";

const ENTRY = fileURLToPath(new URL("relay/main.ts", import.meta.url));
const MAX_STDERR_CHARACTERS = 4000;

interface Pending {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

type DownListener = (relay: RelayProcess, reason: string) => void;

/** The relay's child process as its parent sees it: calls over the IPC channel, and one end. */
export class RelayProcess {
  readonly #child: ChildProcess;
  readonly #logger: Logger;
  readonly #pending = new Map<number, Pending>();
  readonly #onDown: DownListener;
  #lastId = 0;
  #stderr = "";
  #down: string | null = null;
  readonly #exited: Promise<void>;

  /** Resolves when the relay takes calls. `onDown` is called once when the process ends, whatever ended it. */
  static async spawn(logger: Logger, onDown: DownListener): Promise<RelayProcess> {
    const relay = new RelayProcess(logger, onDown);
    await new Promise<void>((resolve, reject) => relay.#pending.set(0, { resolve: () => resolve(), reject }));
    return relay;
  }

  private constructor(logger: Logger, onDown: DownListener) {
    this.#logger = logger;
    this.#onDown = onDown;
    this.#child = fork(ENTRY, [], {
      execPath: process.execPath,
      execArgv: [],
      env: {},
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    });
    this.#exited = new Promise((resolve) => {
      this.#child.once("exit", (code, signal) => {
        this.#end(signal === null ? `exit code ${code}` : `signal ${signal}`);
        resolve();
      });
      this.#child.once("error", (error) => {
        this.#end(error.message);
        if (this.#child.pid === undefined) resolve();
      });
    });
    this.#child.on("message", (message) => this.#receive(message as RelayMessage));
    this.#child.stderr?.on("data", (chunk: Buffer) => {
      this.#stderr = (this.#stderr + chunk.toString()).slice(-MAX_STDERR_CHARACTERS);
    });
  }

  get pid(): number | null {
    return this.#child.pid ?? null;
  }

  /** @throws NetworkError `relay_down`, or `relay_failed` with the relay's reason */
  async call<C extends RelayCall>(
    call: C,
    argument: RelayCalls[C]["arguments"],
  ): Promise<RelayCalls[C]["result"]> {
    if (this.#down !== null) throw downError(this.#down);
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve: (result) => resolve(result as RelayCalls[C]["result"]), reject });
      this.#child.send({ id, call, arguments: argument }, (error) => {
        if (error !== null && this.#pending.delete(id)) reject(downError(error.message));
      });
    });
  }

  /** Ends the process and waits until it is gone. */
  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#exited;
  }

  #receive(message: RelayMessage): void {
    if (message.kind === "fault") {
      this.#logger.warnOnce(`${message.event} ${message.message}`, message.event, {
        reason: message.message,
      });
      return;
    }
    const id = message.kind === "ready" ? 0 : message.id;
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    if (message.kind === "failure") pending?.reject(new NetworkError("relay_failed", message.message));
    else pending?.resolve(message.kind === "ready" ? null : message.result);
  }

  #end(reason: string): void {
    if (this.#down !== null) return;
    const complaint = this.#stderr.trim();
    this.#down = complaint === "" ? reason : `${reason}: ${complaint}`;
    for (const { reject } of this.#pending.values()) reject(downError(this.#down));
    this.#pending.clear();
    this.#onDown(this, this.#down);
  }
}

/** The error of every call that needs the relay while there is none. */
export function downError(reason: string): NetworkError {
  return new NetworkError("relay_down", `the relay of the emulated network is down (${reason})`);
}
