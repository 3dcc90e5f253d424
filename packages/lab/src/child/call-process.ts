import { fork, type ChildProcess, type ForkOptions } from "node:child_process";

const MAX_STDERR_CHARACTERS = 4000;

export type CallMessage =
  | { readonly kind: "ready" }
  | { readonly kind: "result"; readonly id: number; readonly result: unknown }
  | { readonly kind: "failure"; readonly id: number; readonly message: string };

type CallTable<C> = {
  readonly [K in keyof C]: { readonly arguments: unknown; readonly result: unknown };
};

interface CallProcessOptions {
  readonly entry: string;
  readonly execArgv?: readonly string[];
  readonly serialization?: ForkOptions["serialization"];
  readonly downError: (reason: string) => Error;
  readonly failedError: (message: string) => Error;
  readonly onDown?: (reason: string) => void;
  readonly onOther?: (message: unknown) => void;
}

interface Pending {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** Parent side of a child process: RPC over the IPC channel. */
export class CallProcess<C extends CallTable<C>> {
  readonly #options: CallProcessOptions;
  readonly #child: ChildProcess;
  readonly #pending = new Map<number, Pending>();
  readonly #exited: Promise<void>;
  #lastId = 0;
  #stderr = "";
  #down: string | null = null;

  static async spawn<C extends CallTable<C>>(options: CallProcessOptions): Promise<CallProcess<C>> {
    const child = new CallProcess<C>(options);
    await new Promise<void>((resolve, reject) => child.#pending.set(0, { resolve: () => resolve(), reject }));
    return child;
  }

  private constructor(options: CallProcessOptions) {
    this.#options = options;
    this.#child = fork(options.entry, [], {
      execPath: process.execPath,
      execArgv: [...(options.execArgv ?? [])],
      env: {},
      serialization: options.serialization ?? "json",
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
    this.#child.on("message", (message) => this.#receive(message as CallMessage));
    this.#child.stderr?.on("data", (chunk: Buffer) => {
      this.#stderr = (this.#stderr + chunk.toString()).slice(-MAX_STDERR_CHARACTERS);
    });
  }

  get pid(): number | null {
    return this.#child.pid ?? null;
  }

  /** Rejects with `downError` or `failedError`. */
  async call<K extends keyof C & string>(name: K, argument: C[K]["arguments"]): Promise<C[K]["result"]> {
    if (this.#down !== null) throw this.#options.downError(this.#down);
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      this.#child.send({ id, call: name, arguments: argument }, (error) => {
        if (error !== null && this.#pending.delete(id)) reject(this.#options.downError(error.message));
      });
    });
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#exited;
  }

  #receive(message: CallMessage): void {
    switch (message.kind) {
      case "ready":
        this.#take(0)?.resolve(null);
        return;
      case "result":
        this.#take(message.id)?.resolve(message.result);
        return;
      case "failure":
        this.#take(message.id)?.reject(this.#options.failedError(message.message));
        return;
      default:
        this.#options.onOther?.(message);
    }
  }

  #take(id: number): Pending | undefined {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    return pending;
  }

  #end(reason: string): void {
    if (this.#down !== null) return;
    const complaint = this.#stderr.trim();
    this.#down = complaint === "" ? reason : `${reason}: ${complaint}`;
    for (const { reject } of this.#pending.values()) reject(this.#options.downError(this.#down));
    this.#pending.clear();
    this.#options.onDown?.(this.#down);
  }
}
