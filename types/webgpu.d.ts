// TypeScript 7 knows WebGPU's interfaces but not these two objects of the standard.
declare const GPUBufferUsage: Readonly<
  Record<
    | "MAP_READ"
    | "MAP_WRITE"
    | "COPY_SRC"
    | "COPY_DST"
    | "INDEX"
    | "VERTEX"
    | "UNIFORM"
    | "STORAGE"
    | "INDIRECT"
    | "QUERY_RESOLVE",
    number
  >
>;
declare const GPUMapMode: Readonly<Record<"READ" | "WRITE", number>>;
