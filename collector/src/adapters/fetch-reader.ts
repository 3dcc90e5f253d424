import { ScrapeError } from "../errors.ts";
import type { PageReader, Target } from "../ports.ts";

const ACCEPT = "text/plain;version=0.0.4;q=1,application/openmetrics-text;version=1.0.0;q=0.5";
const METRICS_TYPES = /^(text\/plain|application\/openmetrics-text)\b/i;

/** Reads pages by Node's fetch. Bounded in time from the first byte sent to the last received, and in size after decompression. */
export const fetchReader: PageReader = {
  async read(target, options) {
    const { timeoutMs, maxBytes, signal } = options;
    const timeout = AbortSignal.timeout(timeoutMs);
    const either = AbortSignal.any([timeout, signal]);
    try {
      const response = await request(target, either);
      await consume(target, response, maxBytes, (chunk) => options.onText(chunk));
    } catch (error) {
      if (error instanceof ScrapeError) throw error;
      if (timeout.aborted)
        throw new ScrapeError("timeout", `${target.url} must answer within ${timeoutMs} ms`, {
          cause: error,
        });
      throw new ScrapeError("connect", `${target.url} can't be read: ${messageOf(error)}`, { cause: error });
    }
  },
};

async function request(target: Target, signal: AbortSignal): Promise<Response> {
  const headers: Record<string, string> = { accept: ACCEPT };
  if (target.token !== undefined) headers["authorization"] = `Bearer ${target.token}`;
  const response = await fetch(target.url, { headers, redirect: "error", signal });
  const refuse = async (code: "http_status" | "content_type", message: string): Promise<never> => {
    await response.body?.cancel();
    throw new ScrapeError(code, message);
  };
  if (response.status !== 200)
    return refuse("http_status", `${target.url} must answer 200, got ${response.status}`);
  const type = response.headers.get("content-type") ?? "";
  if (!METRICS_TYPES.test(type))
    return refuse(
      "content_type",
      `${target.url} must be a metrics page, got content type ${JSON.stringify(type.slice(0, 100))}`,
    );
  return response;
}

async function consume(
  target: Target,
  response: Response,
  maxBytes: number,
  onText: (chunk: string) => boolean,
): Promise<void> {
  const decoder = new TextDecoder();
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    // Leaving the loop by a throw cancels the body, so the rest is never received.
    if (bytes > maxBytes)
      throw new ScrapeError("too_large", `${target.url} must be at most ${maxBytes} bytes, got more`);
    if (!onText(decoder.decode(chunk, { stream: true }))) break;
  }
  onText(decoder.decode());
}

function messageOf(error: unknown): string {
  const cause = (error as { cause?: unknown }).cause;
  if (cause instanceof Error) return cause.message || cause.name;
  return error instanceof Error ? error.message : String(error);
}
