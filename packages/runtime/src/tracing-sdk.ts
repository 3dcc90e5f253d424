import { OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-proto";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { envDetector, resourceFromAttributes, serviceInstanceIdDetector } from "@opentelemetry/resources";
import { PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import { NodeSDK } from "@opentelemetry/sdk-node";

const EXPORT_TIMEOUT_MS = 5000;
const METRIC_INTERVAL_MS = 60_000;

export function buildSdk(options: {
  readonly serviceName: string;
  readonly endpoint: string;
  readonly serviceVersion?: string;
  readonly metricIntervalMs?: number;
}): NodeSDK {
  const base = options.endpoint.replace(/\/+$/, "");
  const exportIntervalMillis = options.metricIntervalMs ?? METRIC_INTERVAL_MS;
  const metrics = new OTLPMetricExporter({ url: `${base}/v1/metrics`, timeoutMillis: EXPORT_TIMEOUT_MS });
  return new NodeSDK({
    serviceName: options.serviceName,
    resource: resourceFromAttributes(
      options.serviceVersion === undefined ? {} : { "service.version": options.serviceVersion },
    ),
    // The default detectors also send the command line, which may contain secrets.
    resourceDetectors: [envDetector, serviceInstanceIdDetector],
    traceExporter: new OTLPTraceExporter({ url: `${base}/v1/traces`, timeoutMillis: EXPORT_TIMEOUT_MS }),
    metricReaders: [
      new PeriodicExportingMetricReader({
        exporter: metrics,
        exportIntervalMillis,
        // The reader requires a timeout no longer than the interval.
        exportTimeoutMillis: Math.min(EXPORT_TIMEOUT_MS, exportIntervalMillis),
      }),
    ],
    logRecordProcessors: [],
  });
}
