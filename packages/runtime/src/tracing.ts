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

/** W3C Trace Context header of a record or request. */
export const TRACEPARENT_HEADER = "traceparent";
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

let running = 0;

interface TracingOptions {
  readonly serviceName: string;
  /** Base URL of the receiver, such as http://collector:4318. Null or absent: off. */
  readonly endpoint?: string | null | undefined;
  readonly serviceVersion?: string;
  readonly metricIntervalMs?: number;
  readonly flushDeadlineMs?: number;
  readonly clock?: Clock;
}

interface Tracing {
  readonly enabled: boolean;
  /** Flushes within the deadline; rejects with DeadlineError if the receiver is too slow. */
  stop(): Promise<void>;
}

export function tracingEndpoint(
  setting: string | null,
  env: Readonly<Record<string, string | undefined>>,
): string | null {
  return setting ?? (env["OTEL_EXPORTER_OTLP_ENDPOINT"] || null);
}

/** Exports the process's own traces and metrics by OTLP over HTTP. Loads nothing without an endpoint. */
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
        // Frees the process-wide registrations, so that tracing can restart.
        for (const api of [trace, metrics, context, propagation]) api.disable();
      }
    },
  };
}

/** Guards work that is only done for traces. */
export function isTracing(): boolean {
  return running > 0;
}

interface SpanRelations {
  /** Remote parent; null or absent: the active span. */
  readonly parent?: SpanContext | null;
  /** Spans that it handles without being part of them. */
  readonly links?: readonly SpanContext[];
}

/** Runs `fn` in a span that records its error. Without tracing it only runs `fn`. */
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

/** Span of a message until it is acknowledged. */
export interface MessageSpan {
  /** Value of {@link TRACEPARENT_HEADER}, the same for every attempt to send. */
  readonly traceparent: string;
  /** The message was acknowledged, or abandoned because of `error`. */
  end(error?: unknown): void;
}

/** Span of a new message under the active span; null without tracing. */
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

/** Origin of a record or request; null without tracing or a valid header. */
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
