import { context, metrics, propagation, SpanStatusCode, trace } from "@opentelemetry/api";
import type { Attributes, Span } from "@opentelemetry/api";
import type { Clock } from "./clock.ts";
import { withDeadline } from "./deadline.ts";
import { systemClock } from "./system.ts";

const TRACER_NAME = "isochrone";

/** Options of {@link startTracing}. */
export interface TracingOptions {
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
export interface Tracing {
  readonly enabled: boolean;
  /** Sends what is left, within the deadline; rejects with DeadlineError when the receiver doesn't take it in time. */
  stop(): Promise<void>;
}

/** The endpoint by the settings or, without one, by OTEL_EXPORTER_OTLP_ENDPOINT. */
export function tracingEndpoint(
  setting: string | null,
  env: Readonly<Record<string, string | undefined>>,
): string | null {
  return setting ?? (env["OTEL_EXPORTER_OTLP_ENDPOINT"] || null);
}

/** Starts the export of the process's own traces and metrics by OTLP over HTTP. Without an endpoint nothing is loaded. */
export async function startTracing(options: TracingOptions): Promise<Tracing> {
  const { endpoint } = options;
  if (endpoint === null || endpoint === undefined) return { enabled: false, stop: async () => undefined };
  const { buildSdk } = await import("./tracing-sdk.ts");
  const sdk = buildSdk({ ...options, endpoint });
  sdk.start();
  const clock = options.clock ?? systemClock;
  return {
    enabled: true,
    stop: async () => {
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

/** Runs `fn` in a span that ends with it and records its error. Without tracing it only runs `fn`. */
export async function withSpan<T>(
  name: string,
  attributes: Attributes,
  fn: (span: Span) => Promise<T> | T,
): Promise<T> {
  return await trace.getTracer(TRACER_NAME).startActiveSpan(name, { attributes }, async (span) => {
    try {
      return await fn(span);
    } catch (error) {
      span.recordException(error instanceof Error ? error : String(error));
      span.setStatus({
        code: SpanStatusCode.ERROR,
        message: error instanceof Error ? error.message : String(error),
      });
      throw error;
    } finally {
      span.end();
    }
  });
}
