// Starts the page: the store, the API on window.tabgrad, the panels, the engine.

import { Api } from "./api.js";
import { Store } from "./store.js";
import { mountAlerts } from "./ui/alerts.js";
import { mountBenchmark } from "./ui/benchmark.js";
import { mountChart } from "./ui/chart.js";
import { mountForm } from "./ui/form.js";
import { mountKernels } from "./ui/kernels.js";
import { mountLoading } from "./ui/loading.js";
import { mountMetrics } from "./ui/metrics.js";
import { mountSample } from "./ui/sample.js";
import { mountTransport } from "./ui/transport.js";

const store = new Store();
const api = new Api(store);
Object.assign(window, { tabgrad: api });

mountAlerts(store);
mountLoading(store, api);
const form = mountForm(store, api);
mountTransport(store, api, form);
mountMetrics(store);
mountSample(store, api, form);
mountBenchmark(store, api, form);
mountKernels(store, api);
mountChart(store);
api.start();
