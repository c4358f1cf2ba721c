// What the copies that mutants.py writes are compiled with: MUTANT(17) is true if the process was
// started with SAMBA_MUTANT=17. With SAMBA_MUTANTS_SEEN=FILE that file gets two bytes for each
// mutant: was its place reached, and did it ever have another value there than the original?
#ifndef MUTANT_H
#define MUTANT_H

enum { MUTANTS_MOST = 10000 };

extern int mutant_chosen;
extern unsigned char (*mutants_seen)[2];

#define MUTANT(id) (mutants_seen[id][0] = mutants_seen[id][1] = 1, mutant_chosen == (id))
#define MUTANT_OF(id, differs) \
    (mutants_seen[id][0] = 1, (differs) ? (void)(mutants_seen[id][1] = 1) : (void)0, \
     mutant_chosen == (id))

#endif
