export { createAggregator } from "./aggregator.ts";
export { loadPrices } from "./bill/price-file.ts";
export type { ProbeAddresses } from "./ports/ports.ts";
export { aggregatorSettings } from "./settings.ts";
export { certificateSettings } from "./http/certificate-settings.ts";
export { clusterControllerSections } from "./cluster-controllers.ts";
export { annotationSettings } from "./writers/settings.ts";
export { accessSettings } from "@isochrone/kubernetes/access";
