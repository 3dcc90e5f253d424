export { fitCoordinates } from "./fit.ts";
export { CoordinateModel } from "./model.ts";
export type { CoordinateInput, CoordinateSamples, CoordinateState } from "./types.ts";
