// Event stream over fetch, since EventSource cannot send a token.

export interface ServerEvent {
  readonly type: string;
  readonly id: string;
  readonly data: string;
}

interface FollowOptions {
  readonly open: (lastId: string, signal: AbortSignal) => Promise<Response>;
  readonly onEvent: (event: ServerEvent) => void;
  readonly onState?: (isOpen: boolean) => void;
  readonly signal: AbortSignal;
  /** First retry delay, ms, unless the server sets one; doubles per failure. @default 1000 */
  readonly retryMs?: number;
}

const MAX_RETRY_MS = 30_000;
const MAX_DOUBLINGS = 4;
const REFUSALS = [401, 403];
/** The server's heartbeat period is 15 s: longer silence means a dead stream. */
const SILENCE_MS = 45_000;

/** Follows the stream until aborted, reconnecting after the last event. Never rejects. */
export async function followEvents(options: FollowOptions): Promise<void> {
  const { open, onEvent, onState, signal } = options;
  let retryMs = options.retryMs ?? 1_000;
  let lastId = "";
  let failures = 0;
  while (!signal.aborted) {
    const silence = new Silence(signal);
    let isRefused = false;
    try {
      const response = await open(lastId, silence.signal);
      isRefused = REFUSALS.includes(response.status);
      if (!response.ok || response.body === null) throw new Error(`answered ${response.status}`);
      failures = 0;
      onState?.(true);
      for await (const item of readEvents(response.body, () => silence.broken())) {
        if (typeof item === "number") retryMs = Math.min(item, MAX_RETRY_MS);
        else {
          lastId = item.id;
          onEvent(item);
        }
      }
    } catch {
    } finally {
      silence.stop();
    }
    if (signal.aborted) return;
    onState?.(false);
    const waitMs = isRefused ? MAX_RETRY_MS : retryMs * 2 ** Math.min(failures, MAX_DOUBLINGS);
    failures++;
    await pause(Math.min(waitMs, MAX_RETRY_MS), signal);
  }
}

class Silence {
  readonly signal: AbortSignal;
  readonly #dead = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(outer: AbortSignal) {
    this.signal = AbortSignal.any([outer, this.#dead.signal]);
    this.broken();
  }

  broken(): void {
    this.stop();
    this.#timer = setTimeout(() => this.#dead.abort(), SILENCE_MS);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}

/** Parses events as the HTML standard does, for LF line ends; `retry` yields its milliseconds. */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
  onChunk: () => void = () => undefined,
): AsyncGenerator<ServerEvent | number> {
  const reader = body
    .pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)
    .getReader();
  let rest = "";
  let event = { type: "", data: [] as string[] };
  let id = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      onChunk();
      const lines = (rest + value).split("\n");
      rest = lines.pop()!;
      for (const line of lines) {
        if (line === "") {
          if (event.data.length > 0) yield { type: event.type || "message", id, data: event.data.join("\n") };
          event = { type: "", data: [] };
          continue;
        }
        const [field, text] = fieldOf(line);
        if (field === "event") event.type = text;
        else if (field === "data") event.data.push(text);
        else if (field === "id") id = text;
        else if (field === "retry" && /^\d+$/.test(text)) yield Number(text);
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function fieldOf(line: string): [field: string, text: string] {
  const colon = line.indexOf(":");
  if (colon === -1) return [line, ""];
  const text = line.slice(colon + 1);
  return [line.slice(0, colon), text.startsWith(" ") ? text.slice(1) : text];
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener(
      "abort",
      () => {
        clearTimeout(timer);
        resolve();
      },
      { once: true },
    );
  });
}
