// Downloads and builds test programs before the suites, because a first build exceeds a test's timeout.
import { controlPlaneSupport, prepareControlPlane } from "./control-plane/index.ts";
import { collectorBinary, collectorSupport } from "./otelcol/index.ts";
import { helmSupport, operatorsSupport, prepareHelm, prepareOperators } from "./helm/index.ts";
import { kafkaSupport, prepareKafka } from "./kafka/index.ts";

const began = performance.now();
const parts = [
  { name: "Apache Kafka", support: kafkaSupport, prepare: prepareKafka },
  { name: "OpenTelemetry Collector", support: collectorSupport, prepare: collectorBinary },
  { name: "Kubernetes", support: () => controlPlaneSupport(), prepare: () => prepareControlPlane() },
  { name: "Helm", support: helmSupport, prepare: prepareHelm },
  { name: "Operators' definitions", support: operatorsSupport, prepare: prepareOperators },
];
for (const { name, support, prepare } of parts) {
  const found = support();
  if (!found.supported) {
    console.log(`${name}: ${found.reason}; what needs it is skipped`);
    continue;
  }
  console.log(`${name}: the first time takes minutes`);
  await prepare();
  console.log(`${name} is there, after ${Math.round((performance.now() - began) / 1000)} s`);
}
