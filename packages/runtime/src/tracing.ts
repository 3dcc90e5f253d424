import {
  context,
  isSpanContextValid,
  metrics,
  propagation,
  SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import type { Attributes, Span, SpanContext } from "@opentelemetry/api";
import { reasonOf } from "@isochrone/primitives";
import type { Clock } from "./clock.ts";
import { withDeadline } from "./deadline.ts";
import { systemClock } from "./system.ts";

const TRACER_NAME = "isochrone";

/** Header of a record or a request that names the span it came from (W3C Trace Context). */
export const TRACEPARENT_HEADER = "traceparent";
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** How many tracings of this process are on. */
let running = 0;

/** Options of {@link startTracing}. */
interface TracingOptions {
  readonly serviceName: string;
  /** Base address of the receiver, such as http://collector:4318. Null or absent: off. */
  readonly endpoint?: string | null | undefined;
  readonly serviceVersion?: string;
  /** How often metrics go out. @default 60000 */
  readonly metricIntervalMs?: number;
  /** How long `stop` may flush. @default 5000 */
  readonly flushDeadlineMs?: number;
  readonly clock?: Clock;
}

/** Tracing that was started; `enabled` is false when there is no endpoint. */
interface Tracing {
  readonly enabled: boolean;
  /**
   * Sends what is left, within the deadline; rejects with DeadlineError when the receiver doesn't take it in
   * time.
   */
  stop(): Promise<void>;
}

/** The endpoint by the settings or, without one, by OTEL_EXPORTER_OTLP_ENDPOINT. */
export function tracingEndpoint(
  setting: string | null,
  env: Readonly<Record<string, string | undefined>>,
): string | null {
  return setting ?? (env["OTEL_EXPORTER_OTLP_ENDPOINT"] || null);
}

/**
 * Starts the export of the process's own traces and metrics by OTLP over HTTP. Without an endpoint nothing is
 * loaded.
 */
export async function startTracing(options: TracingOptions): Promise<Tracing> {
  const { endpoint } = options;
  if (endpoint === null || endpoint === undefined) return { enabled: false, stop: async () => undefined };
  const { buildSdk } = await import("./tracing-sdk.ts");
  const sdk = buildSdk({ ...options, endpoint });
  sdk.start();
  running += 1;
  let isOn = true;
  const clock = options.clock ?? systemClock;
  return {
    enabled: true,
    stop: async () => {
      if (isOn) running -= 1;
      isOn = false;
      try {
        await withDeadline(clock, options.flushDeadlineMs ?? 5000, "flushing of traces", () =>
          sdk.shutdown(),
        );
      } finally {
        // frees the process-wide places, so that tracing can be started again
        for (const api of [trace, metrics, context, propagation]) api.disable();
      }
    },
  };
}

/** Whether spans are recorded at all: what costs something for the sake of traces looks here first. */
export function isTracing(): boolean {
  return running > 0;
}

/** What a span belongs to, beside the one that is active. */
interface SpanRelations {
  /** It goes on from here, in another process usually; null or absent: from the active span. */
  readonly parent?: SpanContext | null;
  /** It deals with what these began, without being part of them. */
  readonly links?: readonly SpanContext[];
}

/** Runs `fn` in a span that ends with it and records its error. Without tracing it only runs `fn`. */
export async function withSpan<T>(
  name: string,
  attributes: Attributes,
  fn: (span: Span) => Promise<T> | T,
  { parent, links = [] }: SpanRelations = {},
): Promise<T> {
  const around = parent ? trace.setSpanContext(context.active(), parent) : context.active();
  const options = { attributes, links: links.map((linked) => ({ context: linked })) };
  return await trace.getTracer(TRACER_NAME).startActiveSpan(name, options, around, async (span) => {
    try {
      return await fn(span);
    } catch (error) {
      recordError(span, error);
      throw error;
    } finally {
      span.end();
    }
  });
}

/** The way of a message to whoever takes it over. */
export interface MessageSpan {
  /** Value of {@link TRACEPARENT_HEADER}, the same for every attempt to send. */
  readonly traceparent: string;
  /** The message was taken over, or given up because of `error`. */
  end(error?: unknown): void;
}

/** A span of a message that is handed in now, part of the active span; null without tracing. */
export function startMessageSpan(name: string, attributes: Attributes): MessageSpan | null {
  if (!isTracing()) return null;
  const span = trace.getTracer(TRACER_NAME).startSpan(name, { attributes, kind: SpanKind.PRODUCER });
  const { traceId, spanId, traceFlags } = span.spanContext();
  return {
    traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`,
    end: (error) => {
      if (error !== undefined) recordError(span, error);
      span.end();
    },
  };
}

/**
 * The span that a record or request came from; null without tracing, and when its headers name none that is
 * valid.
 */
export function spanContextOf(headers: Readonly<Record<string, unknown>>): SpanContext | null {
  if (!isTracing()) return null;
  const header = headers[TRACEPARENT_HEADER];
  const match = typeof header === "string" ? TRACEPARENT.exec(header) : null;
  if (match === null) return null;
  const [, traceId = "", spanId = "", flags = ""] = match;
  const found = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  return isSpanContextValid(found) ? found : null;
}

function recordError(span: Span, error: unknown): void {
  span.recordException(error instanceof Error ? error : String(error));
  span.setStatus({
    code: SpanStatusCode.ERROR,
    message: reasonOf(error),
  });
}
