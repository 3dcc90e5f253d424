import type { ClusterView } from "./model/cluster-view.ts";
import type { Level, Quantity } from "./model/route.ts";
import type { Theme } from "./model/scale.ts";
import type { Picture, PictureRequest, ViewRequest, WorkerAnswer } from "./worker.ts";

interface Waiting {
  resolve(answer: WorkerAnswer): void;
  reject(error: Error): void;
}

type Question = Omit<ViewRequest, "id"> | Omit<PictureRequest, "id">;

export type ReadAnswer = { readonly view: ClusterView } | { readonly status: number; readonly text: string };

/** The worker that reads and draws. */
export class Reader {
  readonly #worker = new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;

  constructor() {
    this.#worker.addEventListener("message", ({ data }: MessageEvent<WorkerAnswer>) => {
      const waiting = this.#waiting.get(data.id);
      this.#waiting.delete(data.id);
      if ("fault" in data)
        waiting?.reject(
          data.isUnreachable
            ? new TypeError(data.fault)
            : new Error(`the graph could not be read: ${data.fault}`),
        );
      else waiting?.resolve(data);
    });
    this.#worker.addEventListener("error", () => {
      for (const waiting of this.#waiting.values()) waiting.reject(new Error("the page's reader has failed"));
      this.#waiting.clear();
    });
  }

  /** Asks the graph API and reads its answer; where it says no, what it says. Rejects with a TypeError, as fetch does, where it can't be reached. */
  async read(url: string, headers: Readonly<Record<string, string>>): Promise<ReadAnswer> {
    return (await this.#ask({ kind: "view", url, headers })) as ReadAnswer;
  }

  /** Draws the graph that was read last; null before the first. */
  async draw(quantity: Quantity, level: Level, theme: Theme): Promise<Picture | null> {
    const question = { kind: "picture", quantity, level, theme } as const;
    return ((await this.#ask(question)) as { readonly picture: Picture | null }).picture;
  }

  #ask(question: Question): Promise<WorkerAnswer> {
    return new Promise((resolve, reject) => {
      const id = ++this.#lastId;
      this.#waiting.set(id, { resolve, reject });
      this.#worker.postMessage({ ...question, id }, []);
    });
  }
}
