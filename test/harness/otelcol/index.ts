export { startCollector } from "./collector.ts";
export {
  collectorBinary,
  collectorSupport,
  COLLECTOR_VERSION,
  SERVICE_GRAPH_VERSION,
} from "./distribution.ts";
