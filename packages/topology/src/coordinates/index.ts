export { fitCoordinates } from "./fit.ts";
export { CoordinateModel } from "./model.ts";
export type {
  CalibrationState,
  CoordinateEstimate,
  CoordinateInput,
  CoordinateNode,
  CoordinateOptions,
  CoordinatePrevious,
  CoordinateQuality,
  CoordinateSamples,
  CoordinateState,
  HeldOutRows,
  LikenessState,
  MeasuredState,
  RejectedSamples,
  TrackStart,
  TrackState,
} from "./types.ts";
