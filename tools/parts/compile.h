/* ==== [compile] =============================================================================== */
SAMBA__FN bool samba__add_output(samba__compilation *c, samba_tensor *t)
{
    for (int32_t i = 0; i < c->n_outputs; i++)
        if (c->outputs[i] == t) return true;

    const char *graph = t->node ? t->node->graph : NULL;
    if (t->session != c->session)
        return samba_fail(c->session, SAMBA_EARG, "output %s belongs to another session", t->name);
    if (graph && c->microbatches != 1)
        return samba_fail(c->session, SAMBA_EARG,
                          "%s is of graph %s: microbatches are for programs without named graphs",
                          t->name, graph);
    c->outputs[c->n_outputs++] = t;
    return true;
}

/* The first loss that ops compute: its graph trains. A parameter that is a loss itself is of none.
 */
SAMBA__FN const samba_tensor *samba__computed_loss(const samba__compilation *c)
{
    for (int32_t i = 0; i < c->n_losses; i++)
        if (c->losses[i]->node) return c->losses[i];
    return NULL;
}

SAMBA__FN bool samba__add_loss(samba__compilation *c, samba_tensor *t)
{
    if (!samba__is_float(t->dtype))
        return samba_fail(
            c->session, SAMBA_EDTYPE,
            "%s is %T and cannot be a loss; name the losses with program.loss or loss_indices, or compile with inference",
            t->name, (int)t->dtype);

    for (int32_t i = 0; i < c->n_losses; i++)
        if (c->losses[i] == t) return true; /* named twice, it is one loss */
    c->losses[c->n_losses++] = t;

    const samba_tensor *first = samba__computed_loss(c);
    c->graph = first ? first->node->graph : NULL;
    if (!first || !t->node || first->node->graph == t->node->graph) return true;
    return samba_fail(c->session, SAMBA_EARG,
                      "losses %s and %s are of different graphs; one graph of a program trains",
                      first->name, t->name);
}

/* SambaFlow's default suits one scalar output; of more, some were hardly meant as losses. */
SAMBA__FN void samba__warn_of_losses(const samba__compilation *c)
{
    char list[600];
    samba__text t = samba__text_in(list, sizeof list);
    if (!samba__n_optims(c->program)) return;
    if (c->n_losses == 1 && c->losses[0]->shape.ndim == 0) return;

    samba__put_inputs(&t, c->losses, c->n_losses);
    samba__warn(
        c->session,
        "no loss is named, so every output is one and is trained to be small: %s; name the loss with program.loss or loss_indices",
        list);
}

/* Outputs: the loss first, as SambaFlow has (loss, out). Losses: as program says, or all. */
SAMBA__FN bool samba__collect_outputs(samba__compilation *c)
{
    const samba_program *p = c->program;
    samba_session *s = c->session;
    int32_t n = 0;

    if (p->loss && !samba__add_output(c, p->loss)) return false;
    for (; n < SAMBA_MAX_OUTPUTS && p->outputs[n]; n++)
        if (!samba__add_output(c, p->outputs[n])) return false;
    if (!c->n_outputs) return samba_fail(s, SAMBA_EARG, "a program needs a loss or an output");
    if (p->inference) return true;

    if (p->loss && !samba__add_loss(c, p->loss)) return false;
    for (int32_t i = 0; i < p->n_loss_indices && i < SAMBA_MAX_OUTPUTS; i++) {
        int32_t k = p->loss_indices[i];
        if (k < 0 || k >= n)
            return samba_fail(s, SAMBA_ERANGE,
                              "loss index %d is out of range; there are %d outputs", k, n);
        if (!samba__add_loss(c, p->outputs[k])) return false;
    }

    if (p->loss || p->n_loss_indices) return true;
    for (int32_t i = 0; i < c->n_outputs; i++)
        if (!samba__add_loss(c, c->outputs[i])) return false;
    samba__warn_of_losses(c);
    return true;
}

/* Argins are found by name, so two optimizers must not have the same region. */
SAMBA__FN bool samba__own_region(const samba__compilation *c, int32_t o)
{
    const char *mine = samba__optim_at(c->program, o)->argin_region_name;
    for (int32_t i = 0; mine && i < o; i++) {
        const char *other = samba__optim_at(c->program, i)->argin_region_name;
        if (!other || !samba__same_text(mine, other)) continue;
        return samba_fail(
            c->session, SAMBA_ENAME,
            "optimizers %d and %d have the same argin_region_name %s; give each its own", i, o,
            mine);
    }
    return true;
}

SAMBA__FN bool samba__assign_listed(samba__compilation *c, int32_t o)
{
    samba_session *s = c->session;
    const samba_optim *d = samba__optim_at(c->program, o);
    if (!d->params) return true;

    for (int32_t i = 0; i < d->n_params; i++) {
        const samba_tensor *w = d->params[i];
        int32_t other = w && w->session == s ? c->optim_of[w->id] : 0;
        if (!other)
            return samba_fail(
                s, SAMBA_EARG,
                "optimizer %d lists %s, which is no parameter to train of this session", o,
                w ? w->name : "NULL");

        if (other == o + 1)
            return samba_fail(s, SAMBA_EARG, "optimizer %d lists %s twice", o, w->name);
        if (other >= 0)
            return samba_fail(s, SAMBA_EARG,
                              "%s is listed by optimizers %d and %d; a parameter has one optimizer",
                              w->name, other - 1, o);
        c->optim_of[w->id] = o + 1;
    }
    return true;
}

/* Gives an optimizer the parameters that its select wants, of those that no list has. */
SAMBA__FN bool samba__assign_selected(samba__compilation *c, int32_t o)
{
    const samba_optim *d = samba__optim_at(c->program, o);
    if (d->select) {
        for (int32_t i = 0; i < c->n_params; i++) {
            const samba_tensor *w = c->params[i];
            int32_t *optim = &c->optim_of[w->id], other = *optim - 1;
            bool listed = other >= 0 && !samba__optim_at(c->program, other)->select;
            if (listed || !d->select(w, d->select_user)) continue;

            if (other >= 0)
                return samba_fail(
                    c->session, SAMBA_EARG,
                    "%s is selected by optimizers %d and %d; a parameter has one optimizer",
                    w->name, other, o);
            *optim = o + 1;
        }
    }
    return true;
}

/* Assigns each weight its optimizer: the one that lists it, else the one without a list. */
SAMBA__FN bool samba__collect_params(samba__compilation *c)
{
    samba_session *s = c->session;
    const samba_program *p = c->program;
    int32_t n = samba__n_tensors(s), rest = -1;
    c->params = (samba_tensor **)samba__temp(s, 2 * n, sizeof *c->params);
    c->grads = c->params ? c->params + n : NULL;
    c->optim_of = (int32_t *)samba__temp(s, n, sizeof *c->optim_of);
    if (!c->params || !c->optim_of) return false;
    if (p->inference) return true;

    for (int32_t i = 0; i < n; i++) {
        if (s->trace.tensors[i]->role != SAMBA__WEIGHT || s->trace.tensors[i]->frozen) continue;
        c->optim_of[i] = -1;
        c->params[c->n_params++] = s->trace.tensors[i];
    }

    for (int32_t o = 0; o < samba__n_optims(p); o++) {
        const samba_optim *d = samba__optim_at(p, o);
        if (!samba__own_region(c, o) || !samba__check_optim(s, d, o)) return false;
        if (p->max_grad_norm > 0.0f && d->max_grad_norm > 0.0f)
            return samba_fail(
                s, SAMBA_EARG,
                "program.max_grad_norm clips the gradients of all optimizers, max_grad_norm of optimizer %d its own; set one of them",
                o);
        if (!d->params && !d->select && rest >= 0)
            return samba_fail(s, SAMBA_EARG,
                              "optimizers %d and %d both list no parameters; each must own its own",
                              rest, o);

        if (!samba__assign_listed(c, o)) return false;
        if (!d->params && !d->select) rest = o;
    }

    for (int32_t o = 0; o < samba__n_optims(p); o++)
        if (!samba__assign_selected(c, o)) return false;

    for (int32_t i = 0; i < c->n_params; i++) {
        int32_t *optim = &c->optim_of[c->params[i]->id];
        if (*optim < 0) *optim = rest + 1;
    }
    return true;
}

SAMBA__FN bool samba__add_pair(samba__compilation *c, samba_tensor *named, samba_tensor *source)
{
    c->pairs[c->n_pairs].named = named;
    c->pairs[c->n_pairs++].source = source;
    return named && source;
}

/* With microbatches a sum or a mean over rows is kept, as f32, where reading it finds it by this
   ending. */
#define SAMBA__MEAN "mean"

SAMBA__FN bool samba__accumulate_loss(samba__compilation *c, samba_tensor *loss)
{
    samba_session *s = c->session;
    const int32_t anew = 1;
    samba_tensor *mean = samba__layer_param(s, loss->name, SAMBA__MEAN, &loss->shape, SAMBA__OUTPUT,
                                            samba__all(0.0f));
    if (mean) mean->mem_type = loss->mem_type;

    bool sums = samba__output_kind(c, loss) == SAMBA__KIND_SUM;
    samba_tensor *share = sums ? loss : samba_scale(loss, 1.0f / (float)c->microbatches);
    samba__emit2(SAMBA__OP_accumulate, mean, share, &anew, 1);
    if (mean) mean->grad = loss->grad;
    return samba_ok(s);
}

/* An output: of rows, a sum or mean, or the same for all parts. */
SAMBA__FN bool samba__keep_output(samba__compilation *c, samba_tensor *t)
{
    samba__spread_kind kind = samba__output_kind(c, t);
    bool input = t->role == SAMBA__INPUT;
    if (c->microbatches == 1 || kind == SAMBA__KIND_ROWS || kind == SAMBA__KIND_SAME) {
        if (c->microbatches > 1 && !input)
            t->batch_dim = kind == SAMBA__KIND_ROWS ? samba__output_row_dim(c, t) : -1;
        return samba__add_pair(c, t, t);
    }
    return samba__accumulate_loss(c, t);
}

/* What a loss's gradient begins with: ones, or what the caller says through <loss>__grad; of a mean
   each part has its share, and of a sum each replica all of it, as their gradients are averaged. A
   scalar's is an argin, so that files have it and a device needs no one to write it. */
SAMBA__FN samba_tensor *samba__loss_grad(samba__compilation *c, samba_tensor *loss)
{
    char buffer[256];
    samba_session *s = c->session;
    samba__spread_kind kind = samba__output_kind(c, loss);
    const char *name = samba__print_name(s, buffer, sizeof buffer, "%s__grad", loss->name);
    if (!name) return NULL;

    if (loss->role == SAMBA__WEIGHT && s->modes.lacks_grads) {
        samba_fail(
            s, SAMBA_EARG,
            "%s is a parameter and a loss: its gradient as a loss is 1 and cannot be given: samba_set_output_grads(s, true), or another loss",
            loss->name);
        return NULL;
    }
    if (loss->role == SAMBA__WEIGHT) /* whose gradient has this name, as a parameter's */
        return samba_full(s, loss->shape, 1.0f / (float)c->microbatches);

    if (loss->shape.ndim) {
        loss->grad = samba__layer_param(s, loss->name, "grad", &loss->shape, SAMBA__INPUT,
                                        samba__all(1.0f));
        int32_t dim = c->parts ? samba__output_row_dim(c, loss) : loss->batch_dim;
        if (loss->grad) loss->grad->batch_dim = kind == SAMBA__KIND_ROWS ? dim : -1;
    } else {
        loss->grad = samba__argin(s, name, SAMBA__ARGIN_GRAD, 1.0f);
    }

    bool adds = kind == SAMBA__KIND_ROWS || kind == SAMBA__KIND_SUM;
    float times = adds ? (float)c->replicas : 1.0f / (float)c->microbatches;
    samba_tensor *grad = times == 1.0f ? loss->grad : samba_scale(loss->grad, times);
    return loss->dtype == SAMBA_F32 ? grad : samba_cast(grad, loss->dtype);
}

/* Keeps which value is the gradient of which; parameters may have one of their own besides. */
SAMBA__FN void samba__note_flow(samba__compilation *c, const samba__tape *t, samba_tensor *x)
{
    samba__binding_pair flow = { x, samba__tape_grad(t, x) };
    if (flow.source) c->flows[c->n_flows++] = flow;
}

SAMBA__FN bool samba__note_flows(samba__compilation *c, const samba__tape *t)
{
    if (!c->program->pef) return true;
    c->flows = (samba__binding_pair *)samba__temp(c->session, t->n_tensors, sizeof *c->flows);
    if (!c->flows) return false;

    for (int32_t i = 0; i < t->n_nodes; i++)
        for (int32_t o = 0; o < t->nodes[i]->n_out; o++)
            samba__note_flow(c, t, t->nodes[i]->out[o]);
    for (int32_t i = 0; i < c->n_params; i++)
        if (!c->params[i]->grad) samba__note_flow(c, t, c->params[i]);
    return true;
}

/* Backward pass: gradients of the losses in every trainable parameter. */
SAMBA__FN bool samba__add_backward(samba__compilation *c)
{
    samba_session *s = c->session;
    const int32_t onward = 0;
    samba__tape t;
    if (!c->n_params || !c->n_losses) return true;

    if (!samba__tape_open(&t, s, c->losses, c->n_losses)) return false;
    for (int32_t i = 0; i < c->n_params; i++)
        samba__tape_want(&t, c->params[i]);
    samba__tape_spread(&t);

    s->modes.section = SAMBA_BCKWD;
    for (int32_t i = 0; i < c->n_losses && samba_ok(s); i++)
        if (samba__tape_needs(&t, c->losses[i]))
            samba__tape_seed(&t, c->losses[i], samba__loss_grad(c, c->losses[i]));
    if (samba_ok(s)) samba__tape_run(&t);

    for (int32_t i = 0; i < c->n_params && samba_ok(s); i++) {
        samba_tensor *w = c->params[i];
        samba_tensor *dw = c->grads[i] = samba_cast(samba__tape_grad(&t, w), SAMBA_F32);
        if (samba__is_spatial(c) && c->optim_of[w->id] > 0) continue;
        w->grad = c->grads[i] = dw
            ? samba__layer_param(s, w->name, "grad", &w->shape, SAMBA__GRADIENT, samba__all(0.0f))
            : NULL;

        if (w->grad && !c->accumulates) samba__add_pair(c, w->grad, dw);
        if (!w->grad || !c->accumulates) continue;
        s->modes.section = SAMBA_ZEROGRAD;
        samba__emit1(SAMBA__OP_zero, w->grad, NULL, 0);
        s->modes.section = SAMBA_BCKWD;
        samba__emit2(SAMBA__OP_accumulate, w->grad, dw, &onward, 1);
    }

    s->modes.section = SAMBA_FWD;
    if (samba_ok(s)) samba__note_flows(c, &t);
    samba__tape_close(&t);
    return samba_ok(s);
}

/* The factor that clips these gradients, kept as the scalar <prefix>clip_factor. */
SAMBA__FN samba_tensor *samba__add_clip(samba__compilation *c, samba_tensor *const *grads,
                                        int32_t n, const char *prefix, samba_tensor *max_norm)
{
    char buffer[160];
    samba_session *s = c->session;
    samba_tensor *clip = max_norm ? samba__clip_factor(s, grads, n, max_norm) : NULL;
    const char *name = samba__optim_name(s, buffer, sizeof buffer, prefix, "clip_factor");
    if (!clip || !name) return NULL;
    samba_tensor *kept = samba__scalar(s, name, SAMBA_F32, SAMBA__OUTPUT, 0.0f);
    return samba__add_pair(c, kept, clip) ? clip : NULL;
}

/* The factor for the gradients of all optimizers, if the program has one norm. */
SAMBA__FN bool samba__add_program_clip(samba__compilation *c, samba_tensor **clip)
{
    samba_session *s = c->session;
    const samba_program *p = c->program;
    samba__optimizer no_region = SAMBA__ZEROED;
    int32_t n = 0;
    *clip = NULL;
    if (!(p->max_grad_norm > 0.0f) || p->inference) return true;

    samba_tensor **grads = (samba_tensor **)samba__temp(s, c->n_params, sizeof *grads);
    if (!grads) return false;
    for (int32_t i = 0; i < c->n_params; i++)
        if (c->optim_of[c->params[i]->id] > 0 && c->grads[i]) grads[n++] = c->grads[i];
    if (!n) return true; /* which the first optimizer reports, if there is one */

    no_region.prefix = "";
    samba_tensor *max_norm
        = samba__optim_argin(s, &no_region, SAMBA__ARGIN_MAX_GRAD_NORM, p->max_grad_norm);
    *clip = max_norm ? samba__add_clip(c, grads, n, "", max_norm) : NULL;
    return *clip != NULL;
}

/* GRADNORM and OPT sections of one optimizer over the parameters that got a gradient. clip: that of
   all optimizers, or NULL. */
SAMBA__FN bool samba__add_optimizer(samba__compilation *c, int32_t o, samba_tensor *clip)
{
    samba_session *s = c->session;
    const samba_optim *d = samba__optim_at(c->program, o);
    samba_tensor **mine = (samba_tensor **)samba__temp(s, 2 * c->n_params, sizeof *mine), **grads;
    char region[32];
    samba__optimizer opt;
    int32_t n = 0;
    if (!mine) return false;

    grads = mine + c->n_params;
    samba__print(region, sizeof region, samba__n_optims(c->program) > 1 ? "optim%d__" : "", o);
    for (int32_t i = 0; i < c->n_params; i++) {
        samba_tensor *w = c->params[i];
        if (c->optim_of[w->id] == o + 1 && c->grads[i]) {
            grads[n] = c->grads[i];
            mine[n++] = w;
        }
    }
    if (!n)
        return samba_fail(s, SAMBA_EARG, "optimizer %d has no parameter that influences a loss", o);

    const char *prefix = d->argin_region_name ? d->argin_region_name : region;
    if (!samba__optimizer_open(s, &opt, d, prefix, clip)) return false;
    if (opt.max_norm) opt.clip = samba__add_clip(c, grads, n, prefix, opt.max_norm);

    if (!samba_ok(s)) return false;
    for (int32_t i = 0; i < n; i++)
        if (!samba__optimizer_step(&opt, mine[i], grads[i])) return false;
    return true;
}

/* Memories exist, and what lies between ops asks for none but the one it is in. */
SAMBA__FN bool samba__check_memories(const samba__compilation *c)
{
    samba_session *s = c->session;
    for (int32_t i = 0; i < samba__n_tensors(s); i++) {
        const samba_tensor *t = s->trace.tensors[i];
        bool placed = !t->node || t->mem_type == SAMBA_MEM_NONE || t->mem_type == SAMBA_MEM_HBM;
        if ((unsigned)t->mem_type > SAMBA_MEM_HOST)
            return samba_fail(
                s, SAMBA_ERANGE,
                "%s.mem_type is %d; there are SAMBA_MEM_NONE, SAMBA_MEM_DDR, SAMBA_MEM_HBM and SAMBA_MEM_HOST",
                t->name, (int32_t)t->mem_type);

        for (int32_t k = 0; !placed && k < c->n_outputs; k++)
            placed = c->outputs[k] == t;
        if (!placed)
            return samba_fail(
                s, SAMBA_ERANGE,
                "%s.mem_type is %d, but what ops pass on to each other shares memory in the HBM: leave it SAMBA_MEM_NONE, or make it an output",
                t->name, (int32_t)t->mem_type);
    }
    return true;
}

/* Everything before the PEF's bytes: from the program to the plan. */
SAMBA__FN bool samba__lower(samba__compilation *c, samba__plan *p)
{
    samba_session *s = c->session;
    int32_t room = c->n_params + SAMBA_MAX_OUTPUTS + 1 + samba__n_optims(c->program) + 1;
    samba_tensor *clip = NULL;
    c->pairs = (samba__binding_pair *)samba__temp(s, room, sizeof *c->pairs);
    if (!c->pairs) return false;

    for (int32_t i = 0; i < samba__n_tensors(s); i++)
        if (s->trace.tensors[i]->role == SAMBA__OUTPUT && s->trace.tensors[i]->node)
            s->trace.tensors[i]->role = SAMBA__TEMP;

    c->first_generated = samba__n_nodes(s);
    s->trace.generating = true;
    s->modes.graph = c->graph;

    if (!samba__pack_weights(c) || !samba__add_observers(c)) return false;
    if (!samba__find_parts(c) || !samba__add_backward(c)) return false;
    for (int32_t i = 0; i < c->n_outputs; i++) {
        if (!samba__keep_output(c, c->outputs[i])) return false;
    }

    if (!samba__add_program_clip(c, &clip)) return false;
    if (!c->program->inference) {
        for (int32_t o = 0; o < samba__n_optims(c->program); o++)
            if (!samba__add_optimizer(c, o, clip)) return false;
    }
    s->trace.generating = false;

    c->n_tensors = samba__n_tensors(s) + c->n_pairs + c->n_params + samba__quantize_room(c);
    c->bound = (samba_tensor **)samba__temp(s, c->n_tensors, sizeof *c->bound);
    return c->bound && samba__collect_live(c) && samba__simplify(c) && samba__fuse(c)
        && samba__step_in_products(c) && samba__quantize_program(c) && samba__bind(c)
        && samba__sweep_and_schedule(c) && samba__plan_within(c, p);
}

/* What the PEF itself carries: constants and the first values of argins. */
SAMBA__FN const void *samba__initial_value(samba_session *s, uint32_t index, const char *name,
                                           const samba__symbol *q)
{
    samba_tensor *t
        = q->role == SAMBA__CONSTANT || q->role == SAMBA__ARGIN ? samba__named(s, name) : NULL;
    (void)index;
    return t ? t->data : NULL;
}

/* Are the numbers of a program in their ranges? */
SAMBA__FN bool samba__check_fields(samba_session *s, const samba_program *p)
{
    static const char *const limit[4]
        = { "mem_limit[0]", "mem_limit[1]", "mem_limit[2]", "mem_limit[3]" };
    const char *at = "samba_program";

    if (!samba__in_range(s, at, "microbatches", p->microbatches, 0.0, 65536.0)
        || !samba__in_range(s, at, "replicas", p->replicas, 0.0, 65536.0)
        || !samba__in_range(s, at, "n_loss_indices", p->n_loss_indices, 0.0, SAMBA_MAX_OUTPUTS)
        || !samba__in_range(s, at, "n_optims", p->n_optims, 0.0, 65536.0)
        || !samba__in_range(s, at, "weights", (int32_t)p->weights, 0.0, SAMBA_WEIGHTS_INT4)
        || !samba__in_range(s, at, "level", (int32_t)p->level, 0.0, SAMBA_O3)
        || !samba__in_range(s, at, "mapping", (int32_t)p->mapping, 0.0, SAMBA_MAPPING_SPATIAL)
        || !samba__in_range(s, at, "sram_bytes", (double)p->sram_bytes, 0.0, SAMBA__NO_LIMIT)
        || !samba__check_range(s, at, &samba__hyperparams[SAMBA__ARGIN_MAX_GRAD_NORM],
                               (double)p->max_grad_norm)
        || !samba__in_range(s, at, "target", (int32_t)p->target, 0.0, SAMBA_N_TARGETS - 1)
        || !samba__in_range(s, at, "memory", (double)p->memory, 0.0, SAMBA__NO_LIMIT))
        return false;

    for (int i = 0; i < 4; i++)
        if (!samba__in_range(s, at, limit[i], (double)p->mem_limit[i], 0.0, SAMBA__NO_LIMIT))
            return false;
    return true;
}

SAMBA__FN bool samba__check_program(samba_session *s, const samba_program *p)
{
    if (!samba__check_fields(s, p)) return false;

    if (p->n_optims && !p->optims)
        return samba_fail(s, SAMBA_EARG, "in samba_program: n_optims is %d, but optims is NULL",
                          p->n_optims);
    if (p->optims && p->optim.kind)
        return samba_fail(s, SAMBA_EARG,
                          "in samba_program: optim and optims are both given; use one of them");

    if (p->accumulate && p->inference)
        return samba_fail(
            s, SAMBA_EARG,
            "in samba_program: accumulate is of gradients, which a program with inference has not");
    if (p->accumulate && p->mapping == SAMBA_MAPPING_SPATIAL)
        return samba_fail(
            s, SAMBA_EARG,
            "in samba_program: with mapping spatial BCKWD and OPT are one section, so no gradients can add up before OPT: accumulate needs mapping section");

    const samba_optim *o = &p->optim;
    bool given = o->params || o->select || o->argin_region_name;
    for (int32_t i = 0; i < SAMBA__N_OPTIM_ARGINS; i++)
        given = given || samba__optim_value(o, i) != 0.0f;
    if (o->kind || !given) return true;
    char names[120];
    return samba_fail(s, SAMBA_EARG, "in samba_program: optim has fields, but no kind; use %s",
                      samba__optimizer_names(names, sizeof names));
}

SAMBA__FN bool samba__begin_compilation(samba_session *s, samba__compilation *c,
                                        const samba_program *program)
{
    memset(c, 0, sizeof *c);
    c->session = s;
    c->program = program;
    c->microbatches = program->microbatches > 1 ? program->microbatches : 1;
    c->replicas = program->replicas > 1 ? program->replicas : 1;
    c->accumulates = c->microbatches > 1 || program->accumulate;

    if (!samba__check_program(s, program)) return false;
    if ((unsigned)program->weights > SAMBA_WEIGHTS_INT4)
        return samba_fail(
            s, SAMBA_EARG,
            "program.weights is %d; it says how a program with inference stores its weights, 0 ... 4",
            (int32_t)program->weights);
    if (program->weights && !program->inference)
        return samba_fail(
            s, SAMBA_EARG,
            "program.weights packs the weights of a program that does not train: set program.inference, too");

    return samba__check_quantize(s, program) && samba__collect_outputs(c)
        && samba__collect_params(c);
}

