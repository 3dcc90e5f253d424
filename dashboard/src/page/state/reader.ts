import type { ClusterView } from "../model/cluster-view.ts";
import type { Level, Quantity } from "../model/route.ts";
import { Unpacker } from "../model/packed.ts";
import type { Theme } from "../model/scale.ts";
import type { Grid, Spent } from "../model/grid.ts";
import type { Digest } from "../model/summary.ts";
import type { PackedPicture, PictureRequest, ViewRequest, WorkerAnswer } from "./worker.ts";

interface Waiting {
  resolve(answer: WorkerAnswer): void;
  reject(error: Error): void;
}

type Question = Omit<ViewRequest, "id"> | Omit<PictureRequest, "id">;

export interface Reading {
  readonly view: ClusterView;
  readonly digest: Digest;
}

export interface Picture extends Omit<PackedPicture, "grid"> {
  readonly grid: Grid;
}

type ReadAnswer = Reading | { readonly status: number; readonly text: string };

export class Reader {
  readonly #worker = new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });
  readonly #unpacker = new Unpacker();
  #spent: Spent | null = null;
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;

  constructor() {
    this.#worker.addEventListener("message", ({ data }: MessageEvent<WorkerAnswer>) => {
      const waiting = this.#waiting.get(data.id);
      this.#waiting.delete(data.id);
      if ("fault" in data) waiting?.reject(errorOf(data));
      else waiting?.resolve(data);
    });
    this.#worker.addEventListener("error", () => {
      for (const waiting of this.#waiting.values()) waiting.reject(new Error("the page's reader has failed"));
      this.#waiting.clear();
    });
  }

  /**
   * Fetches and parses a graph, or returns the server's refusal. Rejects like fetch: TypeError if
   * unreachable, TimeoutError after the timeout.
   */
  async read(
    url: string,
    headers: Readonly<Record<string, string>>,
    patienceMs: number,
  ): Promise<ReadAnswer> {
    const answer = await this.#ask({ kind: "view", url, headers, patienceMs });
    return "view" in answer ? this.#unpacker.view(answer.view) : (answer as ReadAnswer);
  }

  takeBack({ values, cells }: Spent): void {
    this.#spent = { values, cells };
  }

  async draw(quantity: Quantity, level: Level, theme: Theme): Promise<Picture | null> {
    const spent = this.#spent;
    this.#spent = null;
    const question = { kind: "picture", quantity, level, theme, spent } as const;
    const moved = spent === null ? [] : [spent.values.buffer, spent.cells.buffer];
    const answer = (await this.#ask(question, moved as ArrayBuffer[])) as {
      readonly picture: PackedPicture | null;
    };
    const { picture } = answer;
    return picture === null ? null : { ...picture, grid: this.#unpacker.grid(picture.grid) };
  }

  #ask(question: Question, moved: ArrayBuffer[] = []): Promise<WorkerAnswer> {
    return new Promise((resolve, reject) => {
      const id = ++this.#lastId;
      this.#waiting.set(id, { resolve, reject });
      this.#worker.postMessage({ ...question, id }, moved);
    });
  }
}

function errorOf({ fault, kind }: Extract<WorkerAnswer, { readonly fault: string }>): Error {
  if (kind === "unreachable") return new TypeError(fault);
  return kind === "timeout"
    ? new DOMException(fault, "TimeoutError")
    : new Error(`the graph could not be read: ${fault}`);
}
