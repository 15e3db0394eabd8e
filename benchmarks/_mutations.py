"""Faults of one line each, for `benchmarks.mutation`: which test notices?

Each makes draws, predictions, diagnostics or promised numbers wrong. What only costs time is
left out: step sizes, brackets, and any change of fixed sites or of a gradient's use, which leave
the posterior as it is. Of gradients and sites there are faults nevertheless, because functions
promise these numbers.
"""

from __future__ import annotations

from typing import NamedTuple


class Mutation(NamedTuple):
    """One line of the package, changed.

    Attributes
    ----------
    file : str
        Under ``skgpmcmc/``.
    old, new : str
        A part of the line that occurs nowhere else in the file, and what replaces it.
    tests : str
        Arguments of pytest: the tests that should notice, the likeliest first.
    spoils : str
        What is wrong then.
    """

    file: str
    old: str
    new: str
    tests: str
    spoils: str


_SITE_REPRESENTATIONS = "tests/sampling/test_representations.py -k dense_densities"
_EXPECTATION = "tests/sampling/test_expectation_propagation.py"
_COVARIANCE = "tests/covariance/test_covariance.py"
_GRID = "tests/covariance/test_grid_covariance.py"
_LOW_RANK = "tests/covariance/test_low_rank.py"
_GRADIENTS = "tests/sampling/test_hamiltonian.py"
_UPDATES = "tests/sampling/test_updates.py"
_NOISE = "tests/likelihoods/test_noise_likelihoods.py"
_NEGATIVE_BINOMIAL = "tests/likelihoods/test_negative_binomial.py"
_DIAGNOSTICS = "tests/diagnostics/test_diagnostics.py"
_GRID_PREDICTIONS = "tests/estimators/test_grid_predictions.py"

#: Numbered from 1 in this order; new ones go to the end.
MUTATIONS = [
    # The chain.
    Mutation(
        "_sampling/_hyperparameter_moves.py",
        "prior.log_density(value) + conditional.log_density,",
        "conditional.log_density,",
        "tests/core/test_core_details.py",
        "posterior",
    ),
    Mutation(
        "_sampling/_hyperparameter_moves.py",
        "current = layout.log_prior(theta) + conditional.log_density",
        "current = conditional.log_density",
        "tests/core/test_core_details.py",
        "posterior",
    ),
    Mutation(
        "_sampling/_chain.py",
        "def iterate(self, *, adapt: bool = False)",
        "def iterate(self, *, adapt: bool = True)",
        "tests/sampling/test_sampler.py -k adapt",
        "posterior",
    ),
    Mutation(
        "_sampling/_chain.py",
        "= state.log_likelihood + log_normal",
        "= state.log_likelihood - log_normal",
        "tests/diagnostics/test_trace.py",
        "diagnostics",
    ),
    Mutation(
        "_sampling/_latent_functions.py",
        "[c.state.latent for c in self.chains if c is not chain]",
        "[c.state.latent for c in self.chains]",
        "tests/likelihoods/test_softmax.py tests/estimators/test_multiclass.py",
        "posterior",
    ),
    Mutation(
        "_running/_one_chain.py",
        "self.group.snapshot(self.n_done)",
        "self.group.snapshot(self.n_done + 1)",
        "tests/running/test_continuation.py",
        "posterior",
    ),
    Mutation(
        "_running/_one_chain.py",
        "self.n_done % self.settings.thin == 0",
        "self.n_done % self.settings.thin == 1 % self.settings.thin",
        "tests/core/test_core_details.py",
        "posterior",
    ),
    Mutation(
        "_running/_chains.py",
        "seeds[index], starts[group][number]",
        "seeds[0], starts[group][number]",
        "tests/sampling/test_sampler.py -k chains",
        "posterior",
    ),
    Mutation(
        "_model/_layout.py",
        "np.exp(theta[self.first_likelihood :])",
        "np.exp(theta[self.n_kernel :])",
        "tests/sampling/test_representations.py",
        "posterior",
    ),
    # Latent variables, trajectories and their coordinates.
    Mutation(
        "_sampling/_latent_moves.py",
        "state.whitened = state.whitened * result.cosine + auxiliary_z[:, i] * result.sine",
        "state.whitened = state.whitened * result.cosine - auxiliary_z[:, i] * result.sine",
        "tests/diagnostics/test_trace.py -k dense_densities",
        "posterior",
    ),
    Mutation(
        "_sampling/_latent_moves.py",
        "gradient = shift - precision * centre",
        "gradient = shift + precision * centre",
        f"{_EXPECTATION} -k 'updates or proposal'",
        "posterior",
    ),
    Mutation(
        "_sampling/_latent_moves.py",
        "(gradient - 0.5 * precision * deviation)",
        "(gradient - precision * deviation)",
        f"{_EXPECTATION} -k 'updates or proposal'",
        "posterior",
    ),
    Mutation(
        "_sampling/_hyperparameter_moves.py",
        "total = log_prior + log_density()",
        "total = log_density()",
        "tests/core/test_core_details.py",
        "posterior",
    ),
    Mutation(
        "priors/_normal_coordinates.py",
        "value += float(np.log(np.abs(derivative)).sum())",
        "value -= float(np.log(np.abs(derivative)).sum())",
        f"{_GRADIENTS} -k coordinates",
        "posterior",
    ),
    Mutation(
        "priors/_normal_coordinates.py",
        "density = np.exp(-0.5 * line[bounded] ** 2)",
        "density = np.exp(-line[bounded] ** 2)",
        f"{_GRADIENTS} -k coordinates",
        "posterior",
    ),
    # The model.
    Mutation(
        "_model/_model.py",
        "latent = mean + factor.colour(whitened)",
        "latent = factor.colour(whitened)",
        "tests/running/test_continuation.py tests/sampling/test_representations.py",
        "posterior",
    ),
    Mutation(
        "_model/_mean_offset.py",
        "variance * (1.0 - variance * float(ones @ ones))",
        "variance * (1.0 + variance * float(ones @ ones))",
        "tests/diagnostics/test_trace.py",
        "prediction",
    ),
    Mutation(
        "_model/_state.py",
        "constant = -0.5 * _LOG_2PI * self.latent.shape[0]",
        "constant = 0.5 * _LOG_2PI * self.latent.shape[0]",
        "tests/diagnostics/test_trace.py",
        "diagnostics",
    ),
    # Covariances.
    Mutation(
        "_covariance/_factor.py",
        "unit_half_log_det + self.lower.shape[0] * math.log(self.scale)",
        "unit_half_log_det + self.lower.shape[0] * math.log(amplitude)",
        _COVARIANCE,
        "posterior",
    ),
    Mutation(
        "_covariance/_factor.py",
        "residual = shift - self.precision * mean if mean else shift",
        "residual = shift + self.precision * mean if mean else shift",
        f"{_COVARIANCE} -k pseudo",
        "posterior",
    ),
    Mutation(
        "_covariance/_factor.py",
        "root *= factor.scale",
        "root *= factor.scale**2",
        f"{_COVARIANCE} -k pseudo",
        "posterior",
    ),
    Mutation(
        "_covariance/_dense.py",
        "diagonal += noise / amplitude",
        "diagonal += noise * amplitude",
        "tests/sampling/test_representations.py",
        "posterior",
    ),
    Mutation(
        "_covariance/_stationary.py",
        "scratch += 0.25",
        "scratch += 0.5",
        f"{_COVARIANCE} -k fast_path",
        "posterior",
    ),
    Mutation(
        "_covariance/_stationary.py",
        "variance = (amplitude + offset + noise) * (1.0 + self.jitter)",
        "variance = (amplitude + noise) * (1.0 + self.jitter)",
        f"{_COVARIANCE} -k fast_path",
        "posterior",
    ),
    Mutation(
        "_covariance/_packed_distances.py",
        "self._weighted_table(axis, weights[axis] - old[axis], number, step)",
        "self._weighted_table(axis, old[axis] - weights[axis], number, step)",
        f"{_COVARIANCE} -k 'walk or fused'",
        "posterior",
    ),
    Mutation(
        "_covariance/_stationary_gradient.py",
        "_linalg.write_products(scaled, -2.0 * self._factor, target)",
        "_linalg.write_products(scaled, -1.0 * self._factor, target)",
        f"{_GRADIENTS} {_COVARIANCE} -k 'gradient or fast_path'",
        "posterior",
    ),
    Mutation(
        "_covariance/_stationary_gradient.py",
        'moments -= np.einsum("id,id->d"',
        'moments += np.einsum("id,id->d"',
        f"{_GRADIENTS} -k gradient",
        "gradient",
    ),
    Mutation(
        "_covariance/_grid_factor.py",
        "self.n * math.log(self.scale)",
        "math.log(self.scale)",
        f"{_GRID} -k factor",
        "posterior",
    ),
    Mutation(
        "_covariance/_grid_factor.py",
        "values = 1.0 + precision * factor.scale**2 * factor.unit.values",
        "values = 1.0 + precision * factor.scale * factor.unit.values",
        f"{_GRID} -k pseudo",
        "posterior",
    ),
    Mutation(
        "_covariance/_grid.py",
        "self._noise(theta) / amplitude",
        "self._noise(theta) * amplitude",
        f"{_GRID} -k 'factor or white_noise'",
        "posterior",
    ),
    Mutation(
        "_covariance/_grid_gradient.py",
        "root_rate - w * values[3] * q",
        "root_rate + w * values[3] * q",
        f"{_GRID} -k gradient",
        "gradient",
    ),
    # Representations.
    Mutation(
        "representations/_collapsed.py",
        "- np.sqrt(data.noise) * noise",
        "- data.noise * noise",
        "tests/sampling/test_representations.py -k marginal_draws",
        "posterior",
    ),
    Mutation(
        "representations/_collapsed.py",
        "given.log_likelihood(self.centre, params) + half_log_noise",
        "given.log_likelihood(self.centre, params) - half_log_noise",
        _SITE_REPRESENTATIONS,
        "posterior",
    ),
    Mutation(
        "representations/_pseudo_posterior.py",
        "self._half_log_density = 0.5 * (log_det - float(",
        "self._half_log_density = 0.5 * (log_det + float(",
        _SITE_REPRESENTATIONS,
        "posterior",
    ),
    Mutation(
        "representations/_pseudo_posterior.py",
        "float(state.whitened.dot(state.whitened)) - state.pseudo.half_log_det",
        "float(state.whitened.dot(state.whitened)) + state.pseudo.half_log_det",
        _SITE_REPRESENTATIONS,
        "posterior",
    ),
    Mutation(
        "representations/_pseudo_posterior.py",
        "/ np.sqrt(state.sites.precision)",
        "/ state.sites.precision",
        "tests/sampling/test_representations.py -k surrogate_data",
        "posterior",
    ),
    Mutation(
        "representations/_pseudo_posterior.py",
        "if candidate.factor is current.factor and candidate.sites is current.sites:",
        "if candidate.factor is current.factor or candidate.sites is current.sites:",
        _SITE_REPRESENTATIONS,
        "posterior",
    ),
    Mutation(
        "representations/_site_rules.py",
        "return new == old",
        "return True",
        "tests/sampling/test_representations.py -k 'sites or dense_densities'",
        "posterior",
    ),
    Mutation(
        "representations/_direct.py",
        "self.log_density += state.log_likelihood",
        "self.log_density -= state.log_likelihood",
        "tests/sampling/test_representations.py -k log_density",
        "posterior",
    ),
    Mutation(
        "representations/_joint.py",
        "score.sum() - float(sites.precision @ along.residual)",
        "score.sum() + float(sites.precision @ along.residual)",
        "tests/sampling/test_joint_updates.py -k gradient",
        "gradient",
    ),
    Mutation(
        "representations/_warm_up.py",
        "return log_density - state.pseudo.half_log_det",
        "return log_density + state.pseudo.half_log_det",
        "tests/core/test_core_details.py",
        "approximation",
    ),
    Mutation(
        "representations/_expectation_propagation.py",
        "(marginals.mean * precision - sites.shift) / cavity",
        "(marginals.mean * precision + sites.shift) / cavity",
        f"{_EXPECTATION} -k textbook",
        "sites",
    ),
    Mutation(
        "representations/_expectation_propagation.py",
        "cavity = precision - sites.precision",
        "cavity = precision + sites.precision",
        f"{_EXPECTATION} -k textbook",
        "sites",
    ),
    Mutation(
        "representations/_site_rules.py",
        "if self._last is None or self._last[0] != state.params:",
        "if self._last is None:",
        f"{_EXPECTATION} -k scale_the_sites",
        "posterior",
    ),
    Mutation(
        "representations/_site_rules.py",
        "frozen.sites.precision * ratio, frozen.sites.shift * ratio",
        "frozen.sites.precision * ratio, frozen.sites.shift",
        f"{_EXPECTATION} -k scale_the_sites",
        "sites",
    ),
    Mutation(
        "representations/_site_rules.py",
        "self._frozen, self._last = value, None",
        "self._frozen = value",
        f"{_EXPECTATION} -k 'frozen or adapted or anew'",
        "posterior",
    ),
    Mutation(
        "representations/_joint.py",
        "score + w * latent",
        "score - w * latent",
        "tests/sampling/test_joint_updates.py -k sites_make",
        "sites",
    ),
    # Updates.
    Mutation(
        "updates/_slice.py",
        "if proposal < value:",
        "if proposal > value:",
        f"{_UPDATES} -k slice",
        "posterior",
    ),
    Mutation(
        "updates/_slice.py",
        "left = value - width * rng.random()",
        "left = value - width * 0.5",
        f"{_UPDATES} -k slice",
        "posterior",
    ),
    Mutation(
        "updates/_slice.py",
        "steps_right = max_steps_out - steps_left",
        "steps_right = max_steps_out",
        f"{_UPDATES} -k steps_out",
        "posterior",
    ),
    Mutation(
        "updates/_elliptical.py",
        "level = log_likelihood_value - rng.standard_exponential()",
        "level = log_likelihood_value - 0.5 * rng.standard_exponential()",
        f"{_UPDATES} -k elliptical",
        "posterior",
    ),
    Mutation(
        "updates/_elliptical.py",
        "left, right = angle - 2.0 * math.pi, angle",
        "left, right = angle - math.pi, angle",
        f"{_UPDATES} -k elliptical",
        "posterior",
    ),
    Mutation(
        "updates/_hamiltonian.py",
        "(0.5 if last else 1.0)",
        "(1.0 if last else 1.0)",
        f"{_GRADIENTS} -k 'leapfrog or hole'",
        "posterior",
    ),
    Mutation(
        "updates/_metropolis.py",
        "threshold = log_density_value - log_ratio",
        "threshold = log_density_value + log_ratio",
        f"{_UPDATES} -k metropolis",
        "posterior",
    ),
    # Likelihoods.
    Mutation(
        "likelihoods/_polya_gamma.py",
        "uniform >= 1.0 - 3.0 * np.exp(-4.0 / times)",
        "uniform >= 1.0 - 2.0 * np.exp(-4.0 / times)",
        "tests/likelihoods/test_polya_gamma.py",
        "posterior",
    ),
    Mutation(
        "likelihoods/_polya_gamma.py",
        "proposals = b * b * _passage_times",
        "proposals = b * _passage_times",
        f"{_NEGATIVE_BINOMIAL} -k 'moments or tails'",
        "posterior",
    ),
    Mutation(
        "likelihoods/_polya_gamma.py",
        "mean = 1.5 * sums[1] ** 2 / sums[2]",
        "mean = 3.0 * sums[1] ** 2 / sums[2]",
        f"{_NEGATIVE_BINOMIAL} -k 'skewness or moments'",
        "posterior",
    ),
    Mutation(
        "likelihoods/_augmentation.py",
        "float((np.log(scale2) + squares).sum())",
        "float((np.log(scale2) - squares).sum())",
        f"{_NOISE} -k density",
        "posterior",
    ),
    Mutation(
        "likelihoods/_student_t.py",
        "precision = rng.gamma(0.5 * (nu + 1.0), size=y.size)",
        "precision = rng.gamma(0.5 * nu, size=y.size)",
        "tests/core/test_core_details.py",
        "posterior",
    ),
    Mutation(
        "likelihoods/_negative_binomial.py",
        "(self._group_count - failures) - precision * offset",
        "(self._group_count - failures) + precision * offset",
        f"{_NEGATIVE_BINOMIAL} -k auxiliary",
        "posterior",
    ),
    Mutation(
        "likelihoods/_softmax.py",
        "sites.shift + self._offset * sites.precision",
        "sites.shift - self._offset * sites.precision",
        "tests/core/test_core_details.py -k softmax",
        "posterior",
    ),
    Mutation(
        "likelihoods/_gaussian.py",
        "sums.log_scale + self._n_weighted * math.log(factor)",
        "sums.log_scale + math.log(factor)",
        f"{_NOISE} -k sum",
        "posterior",
    ),
    Mutation(
        "likelihoods/_sites.py",
        "z_mean / (scale * z_variance) + mean * precision",
        "z_mean / (scale * z_variance) - mean * precision",
        "tests/likelihoods/test_sites.py",
        "sites",
    ),
    Mutation(
        "likelihoods/predictive/_logistic_normal.py",
        "return 4.0 * scale**2, weight / weight.sum()",
        "return 2.0 * scale**2, weight / weight.sum()",
        "tests/likelihoods/test_likelihoods.py -k success_probability",
        "prediction",
    ),
    Mutation(
        "likelihoods/predictive/_logistic_normal.py",
        "before, now, divisor = now, divisor, before",
        "before, now, divisor = divisor, now, before",
        "tests/likelihoods/test_logistic_normal.py",
        "prediction",
    ),
    # Priors.
    Mutation(
        "priors/_hyperprior.py",
        "(math.exp(value), value) if self._exponential",
        "(math.exp(value), 0.0) if self._exponential",
        "tests/priors/test_priors.py -k 'log_density or integrates'",
        "posterior",
    ),
    Mutation(
        "priors/_hyperprior.py",
        "constant_of(working, centre) - math.log(mass)",
        "constant_of(working, centre) + math.log(mass)",
        "tests/priors/test_priors.py -k 'log_density or integrates'",
        "numbers",
    ),
    # Predictions.
    Mutation(
        "_prediction/_conditional.py",
        "_LARGEST_RATIO = 2e3",
        "_LARGEST_RATIO = 2e9",
        "tests/core/test_conditionals.py",
        "numbers",
    ),
    Mutation(
        "diagnostics/_vehtari.py",
        "np.asarray(factor * mcse_means(",
        "np.asarray(mcse_means(",
        "tests/estimators/test_prediction_mcse.py -k unequal",
        "prediction",
    ),
    # Parts of the latent function.
    Mutation(
        "_prediction/_dense.py",
        "for one in each)) - cross.T @ cross",
        "for one in each)) + cross.T @ cross",
        "tests/prediction/test_components.py -k samples",
        "prediction",
    ),
    Mutation(
        "_prediction/_views.py",
        "return mean if self._has_offset else 0.0",
        "return mean",
        "tests/prediction/test_components.py -k each_draw",
        "prediction",
    ),
    Mutation(
        "_covariance/_cross.py",
        "both - 2.0 * self._average.with_function(new)",
        "both - self._average.with_function(new)",
        "tests/prediction/test_components.py -k centred",
        "prediction",
    ),
    Mutation(
        "_prediction/_grid.py",
        "explained += 2.0 * own * share * between",
        "explained -= 2.0 * own * share * between",
        "tests/prediction/test_components.py -k centred",
        "prediction",
    ),
    Mutation(
        "_covariance/_derivatives.py",
        "both = -4.0 * curvature * u**2 -",
        "both = 4.0 * curvature * u**2 -",
        "tests/prediction/test_derivatives.py -k kernels",
        "prediction",
    ),
    Mutation(
        "_prediction/_views.py",
        "self.cross(theta, X) if axis == self._column else super().cross(theta, X)",
        "self.cross(theta, X)",
        "tests/prediction/test_derivatives.py -k joint_posterior",
        "prediction",
    ),
    Mutation(
        "estimators/_shares.py",
        "- interaction / n for effect",
        "for effect",
        "tests/prediction/test_shares.py -k first_order",
        "prediction",
    ),
    Mutation(
        "_prediction/_lines.py",
        "share * deviation[places] - b @ (W * deviation)",
        "share * deviation[places] + b @ (W * deviation)",
        "tests/estimators/test_leave_one_out.py -k lines",
        "prediction",
    ),
    Mutation(
        "_prediction/_lines.py",
        "integrands.append(without + own / self._rows.weights[rows])",
        "integrands.append(without + own)",
        "tests/estimators/test_leave_one_out.py -k lines",
        "prediction",
    ),
    Mutation(
        "_prediction/_left_out.py",
        "precision = 1.0 / variance + others",
        "precision = 1.0 / variance",
        "tests/estimators/test_leave_one_out.py -k algebra",
        "prediction",
    ),
    Mutation(
        "diagnostics/_pareto.py",
        "np.minimum(np.log(math.exp(cut) + excess), 0.0)",
        "np.minimum(np.log(excess), 0.0)",
        "tests/diagnostics/test_pareto.py",
        "diagnostics",
    ),
    Mutation(
        "_covariance/_cross.py",
        "out += self._offset",
        "out -= self._offset",
        "tests/covariance/test_cross_covariances.py",
        "prediction",
    ),
    Mutation(
        "_covariance/_cross.py",
        "self._by_product = form.nu > 0.5 and",
        "self._by_product = form.nu > 0.0 and",
        "tests/covariance/test_cross_covariances.py",
        "numbers",
    ),
    Mutation(
        "_prediction/_conditional.py",
        "np.subtract(self.cross.variances(X[rows]), explained,",
        "np.add(self.cross.variances(X[rows]), explained,",
        f"{_GRID_PREDICTIONS} -k moments",
        "prediction",
    ),
    Mutation(
        "_prediction/_dense.py",
        "self._values[draw] - offset",
        "self._values[draw]",
        f"{_GRID_PREDICTIONS} -k moments",
        "prediction",
    ),
    Mutation(
        "_prediction/_dense.py",
        "trace.latent.reshape(-1, trace.latent.shape[-1])[which]",
        "trace.latent.reshape(-1, trace.latent.shape[-1])[: len(which)]",
        "tests/core/test_core_details.py",
        "prediction",
    ),
    Mutation(
        "_prediction/_dense.py",
        "values = noise * np.array([site.shift for site in sites])",
        "values = np.array([site.shift for site in sites])",
        "tests/estimators/test_regression.py -k 'values or scikit_learn'",
        "prediction",
    ),
    Mutation(
        "likelihoods/predictive/_mixtures.py",
        "by_row(variance).mean(axis=1) + between",
        "by_row(variance).mean(axis=1) - between",
        "tests/likelihoods/test_mixtures.py -k moments",
        "prediction",
    ),
    Mutation(
        "likelihoods/predictive/_mixtures.py",
        "scale, total = np.sqrt(variance)",
        "scale, total = variance",
        "tests/likelihoods/test_mixtures.py -k softmax",
        "prediction",
    ),
    # Diagnostics.
    Mutation(
        "diagnostics/_vehtari.py",
        "rho = 1.0 - (within - acov) / pooled",
        "rho = 1.0 - (within + acov) / pooled",
        f"{_DIAGNOSTICS} -k agrees",
        "diagnostics",
    ),
    Mutation(
        "diagnostics/_vehtari.py",
        "(ranks - 0.375) / (n_pooled + 0.25)",
        "(ranks - 0.5) / (n_pooled + 0.25)",
        f"{_DIAGNOSTICS} -k agrees",
        "diagnostics",
    ),
    Mutation(
        "diagnostics/_vehtari.py",
        "np.quantile(chains, [0.05, 0.95])",
        "np.quantile(chains, [0.1, 0.9])",
        f"{_DIAGNOSTICS} -k agrees",
        "diagnostics",
    ),
    Mutation(
        "diagnostics/_spectral.py",
        "aic = n_draws * np.log(variance) + 2 * order",
        "aic = n_draws * np.log(variance) + order",
        f"{_DIAGNOSTICS} -k agrees",
        "diagnostics",
    ),
    # Comparisons, buffers, and ends of adaptations.
    Mutation(
        "_sampling/_chain.py",
        "self.state.log_likelihood = self.workspace.log_likelihood(",
        "_ = self.workspace.log_likelihood(",
        "tests/core/test_core_details.py -k present",
        "posterior",
    ),
    Mutation(
        "_sampling/_chain.py",
        "if n_approximate and iteration == n_approximate:",
        "if n_approximate and iteration == n_approximate + 1:",
        "tests/core/test_core_details.py -k warm_up",
        "posterior",
    ),
    Mutation(
        "_sampling/_hyperparameter_moves.py",
        "        if adapt:",
        "        if adapt or True:",
        "tests/core/test_core_details.py",
        "posterior",
    ),
    Mutation(
        "_covariance/_factor.py",
        "slot = 0 if current is None else 1 - current.slot",
        "slot = 0 if current is None else current.slot",
        f"{_COVARIANCE} -k 'buffer or alternate'",
        "posterior",
    ),
    Mutation(
        "_covariance/_dense.py",
        "self._build(theta, 0 if current is None else 1 - current.slot,",
        "self._build(theta, 0 if current is None else current.slot,",
        f"{_COVARIANCE} -k 'buffer or alternate'",
        "posterior",
    ),
    Mutation(
        "_covariance/_stationary_gradient.py",
        "return self._weights is weights",
        "return self._weights is not None",
        f"{_GRADIENTS} -k gradient",
        "gradient",
    ),
    Mutation(
        "updates/_slice.py",
        "if proposal_log_density > level:",
        "if not proposal_log_density <= level:",
        f"{_UPDATES} -k nan",
        "posterior",
    ),
    Mutation(
        "updates/_hamiltonian.py",
        "if not change > -level:",
        "if change <= -level:",
        f"{_GRADIENTS} -k 'nan or hole'",
        "posterior",
    ),
    Mutation(
        "_prediction/_dense.py",
        "rng.randint(0, len(functions[0]),",
        "rng.randint(0, max(len(functions[0]) - 1, 1),",
        "tests/core/test_core_details.py",
        "prediction",
    ),
    Mutation(
        "diagnostics/_vehtari.py",
        "np.fmax(_rhat(scores)",
        "np.fmin(_rhat(scores)",
        f"{_DIAGNOSTICS} -k agrees",
        "diagnostics",
    ),
    Mutation(
        "updates/_elliptical.py",
        "if proposal_log_likelihood > level:",
        "if not proposal_log_likelihood <= level:",
        f"{_UPDATES} -k nan",
        "posterior",
    ),
    # Predictions, and what they are made of.
    Mutation(
        "estimators/_class_predictions.py",
        "softmax(self._likelihood.log_class_weight(latent), axis=axis)",
        "softmax(latent, axis=axis)",
        "tests/estimators/test_class_probabilities.py -k quantiles_of_known",
        "prediction",
    ),
    Mutation(
        "estimators/_cox.py",
        "deviance_of_constant(y, rate * exposure, weights)",
        "deviance_of_constant(y, rate * exposure, None)",
        "tests/estimators/test_count_scores.py -k weights",
        "score",
    ),
    Mutation(
        "estimators/_count_predictions.py",
        "np.average(reduction, weights=weights)",
        "np.average(reduction)",
        "tests/estimators/test_count_scores.py -k weights",
        "score",
    ),
    Mutation(
        "_prediction/_averages.py",
        "some = {name: values[rows] for name, values in per_row.items()}",
        "some = {n: v[: rows.stop - rows.start] for n, v in per_row.items()}",
        "tests/estimators/test_score_values.py -k test_density_of_counts",
        "prediction",
    ),
    Mutation(
        "_sampling/_latent_functions.py",
        "for c in self.chains if c is not chain]",
        "for c in (self.chains[0], self.chains[-1]) if c is not chain]",
        "tests/likelihoods/test_softmax.py -k given_all_others",
        "posterior",
    ),
    Mutation(
        "likelihoods/_student_t.py",
        "np.broadcast_to(scale2, self.y.shape)[rows], nu",
        "np.sort(np.broadcast_to(scale2, self.y.shape))[rows], nu",
        "tests/likelihoods/test_augmented_student_t.py",
        "posterior",
    ),
    Mutation(
        "likelihoods/_augmentation.py",
        "prior = self._precision.size *",
        "prior = self._n_latent *",
        "tests/likelihoods/test_augmented_student_t.py",
        "posterior",
    ),
    Mutation(
        "likelihoods/_augmentation.py",
        "along_half = self._precision.size *",
        "along_half = self._n_latent *",
        "tests/likelihoods/test_augmented_student_t.py",
        "posterior",
    ),
    Mutation(
        "priors/_data_scaled.py",
        "tuple(spec.bounds[element])",
        "tuple(spec.bounds[0])",
        "tests/priors/test_element_priors.py -k bounds_of_some",
        "priors",
    ),
    Mutation(
        "_model/_model.py",
        "mean = centre + std * rng.standard_normal()",
        "mean = centre",
        "tests/core/test_collapsed_mean.py",
        "posterior",
    ),
    # Inducing points.
    Mutation(
        "_covariance/_low_rank.py",
        "columns.residual + noise / amplitude",
        "columns.residual + noise",
        f"{_LOW_RANK} -k 'gradient or only_a_move'",
        "posterior",
    ),
    Mutation(
        "_covariance/_low_rank.py",
        "half_log_diagonal + _linalg.log_diagonal_sum(np.diagonal(lower))",
        "half_log_diagonal + 0.5 * _linalg.log_diagonal_sum(np.diagonal(lower))",
        f"{_LOW_RANK} -k factors",
        "posterior",
    ),
    Mutation(
        "_covariance/_low_rank_factor.py",
        "weights = factor.scale**2 * precision / (1.0 + omega)",
        "weights = factor.scale**2 * precision",
        f"{_LOW_RANK} -k pseudo",
        "posterior",
    ),
    Mutation(
        "_covariance/_low_rank_factor.py",
        "+ self.scale * rng.standard_normal(m)",
        "+ rng.standard_normal(m) / self.scale",
        "tests/core/test_low_rank_predictions.py -k given_all_rows",
        "prediction",
    ),
    Mutation(
        "_covariance/_low_rank_gradient.py",
        "np.multiply(block, (squares - inverse_diagonal)[:, np.newaxis], out=work)",
        "np.multiply(block, squares[:, np.newaxis], out=work)",
        f"{_LOW_RANK} -k gradient",
        "gradient",
    ),
    Mutation(
        "_running/_stopping.py",
        "found.ess >= min_ess and found.rhat <= max_rhat",
        "found.ess >= min_ess",
        "tests/running/test_stopping.py -k rule",
        "diagnostics",
    ),
    Mutation(
        "_running/_rounds.py",
        "> sum(self.warm_ups[:k])",
        "> sum(self.warm_ups[: k + 1])",
        "tests/running/test_stopping.py -k checkpoint",
        "posterior",
    ),
    Mutation(
        "estimators/_inducing.py",
        "1.0 / precision",
        "precision.copy()",
        "tests/estimators/test_fits_with_inducing_points.py -k 'enough or few or evidences'",
        "diagnostics",
    ),
]
